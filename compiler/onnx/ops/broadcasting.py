"""How the operators of two operands lined them up before broadcasting became multidirectional (opset 7)."""

from __future__ import annotations

from basalt.ops.shapes import broadcastable_to, same_shape, text

from ..node import NodeContext
from ..tensor import Tensor

__all__ = ["check_same_shapes", "operands"]


def operands(n: NodeContext) -> tuple[Tensor, Tensor]:
    """The two operands, in shapes that broadcast to each other as the version means.

    Before version 7, with the attribute ``broadcast``, the second operand has one element or is a run of the first
    one's axes, from ``axis`` on (by default the last ones); without it both have one shape.

    Raises:
        ValidationError: for shapes that the version does not allow.
    """
    a, b = n.tensor(0), n.tensor(1)
    if n.version >= 7 or n.schema is None or "broadcast" not in n.schema.attributes:
        return a, b
    if not n.attr("broadcast"):
        check_same_shapes(n, [a, b])
        return a, b
    if all(d == 1 for d in b.shape):
        return a, n.reshape(b, ())
    axis = n.attr("axis", None)
    start = a.rank - b.rank if axis is None else n.axis(axis, a.rank)
    if start < 0 or start + b.rank > a.rank or not broadcastable_to(b.shape, a.shape[start : start + b.rank]):
        where = "its last axes" if axis is None else f"its axes from {axis} on"
        raise n.error(
            f"an operand of shape {text(b.shape)} is broadcast to {text(a.shape)}, expected a shape equal to {where}"
        )
    return a, n.reshape(b, (*b.shape, *[1] * (a.rank - start - b.rank)))


def check_same_shapes(n: NodeContext, tensors: list[Tensor]) -> None:
    """Refuse operands of different shapes."""
    for other in tensors[1:]:
        if not same_shape(tensors[0].shape, other.shape):
            raise n.error(
                f"operands have shapes {text(tensors[0].shape)} and {text(other.shape)}, "
                f"expected equal ones: version {n.version} does not broadcast here"
            )
