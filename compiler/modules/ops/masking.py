"""Writing where a mask says so."""

from __future__ import annotations

from basalt.ops.dims import product

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten


@aten("masked_scatter.default")
def masked_scatter(n: AtenContext, x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The source's elements in their order at the places that the mask marks."""
    mask = n.expand(mask, n.shape)
    return n.call("Where", mask, n.reshape(_in_order(n, mask, source), n.shape), n.expand(x, n.shape))


def put_masked(n: AtenContext, x: Tensor, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    """``x[mask] = values``, or ``x[mask] += values``."""
    values = n.cast(values, x.dtype)
    rest = x.shape[mask.rank :]
    if values.rank > len(rest) and values.shape[0] != 1:
        rows = n.expand(values, (values.shape[0], *rest))
        written = n.reshape(_in_order(n, mask, rows), x.shape)
    else:
        written = n.expand(values, x.shape) if values.rank <= len(rest) else n.expand(_row(n, values), x.shape)
    if accumulate:
        written = n.call("Or" if x.dtype == "bool" else "Add", x, written)
    return n.call("Where", n.reshape(mask, (*mask.shape, *[1] * len(rest))), written, x)


def _row(n: AtenContext, values: Tensor) -> Tensor:
    return n.reshape(values, values.shape[1:])


def _in_order(n: AtenContext, mask: Tensor, source: Tensor) -> Tensor:
    """For each place of the mask (in one row) the source's row whose number is that of the marked places before it."""
    flat = n.reshape(mask, (product(mask.shape),))
    before = n.emit("cumulative_sum", n.cast(flat, "int64"), axis=0)
    places = n.emit("max", n.emit("sub", before, n.constant(1, "int64")), n.constant(0, "int64"))
    if n.op == "aten::masked_scatter.default":
        source = n.reshape(source, (product(source.shape),))
    if source.shape[0] == 0:
        return n.filled(0, (*flat.shape, *source.shape[1:]), source.dtype)
    last = n.emit("sub", n.size_tensor((source.shape[0],), ()), n.constant(1, "int64"))
    return n.emit("gather", source, n.emit("min", places, last), axis=0)
