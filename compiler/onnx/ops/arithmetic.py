"""Element-wise arithmetic of two or more operands: Add, Sub, Mul, Div, Pow, Mod, Min, Max, Mean, Sum."""

from __future__ import annotations

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor

_BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}


def _old_broadcast(n: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The second operand as versions 1 and 6 broadcast it: its axes are those of the first from ``axis`` on."""
    if not n.attr("broadcast"):
        return b
    axis = n.attr("axis", None)
    if axis is None:
        return b
    start = n.axis(axis, a.rank)
    return n.reshape(b, (*b.shape, *[1] * (a.rank - start - b.rank)))


def _binary(n: NodeContext) -> Tensor:
    return n.emit(_BINARY[n.op], n.tensor(0), n.tensor(1))


def _binary_old(n: NodeContext) -> Tensor:
    a = n.tensor(0)
    return n.emit(_BINARY[n.op], a, _old_broadcast(n, a, n.tensor(1)))


for _name in _BINARY:
    onnx_op(_name, 7, 13, 14)(_binary)
    onnx_op(_name, 1, 6)(_binary_old)
