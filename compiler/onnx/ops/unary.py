"""Element-wise functions of one operand."""

from __future__ import annotations

from functools import partial

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .precision import in_floats, is_float, is_unsigned

_SINCE_1 = {
    "Neg": "neg",
    "Ceil": "ceil",
    "Floor": "floor",
    "Sqrt": "sqrt",
    "Reciprocal": "reciprocal",
    "Exp": "exp",
    "Log": "log",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
}
_SINCE_7 = {"Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan"}
_SINCE_9 = {"Sinh": "sinh", "Cosh": "cosh", "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh"}


def _unary(n: NodeContext, op: str) -> Tensor:
    return n.emit(op, n.tensor(0))


for _table, _versions in ((_SINCE_1, (1, 6, 13)), (_SINCE_7, (7, 22)), (_SINCE_9, (9, 22))):
    for _name, _op in _table.items():
        onnx_op(_name, *_versions)(partial(_unary, op=_op))
onnx_op("Round", 11, 22)(partial(_unary, op="round_even"))


@onnx_op("Abs", 1, 6, 13)
def absolute(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    return x if is_unsigned(x) else n.emit("abs", x)


@onnx_op("Sign", 9, 13)
def sign(n: NodeContext) -> Tensor:
    """NaN for NaN, which the standard leaves open."""
    x = n.tensor(0)
    if is_unsigned(x):
        return n.emit("min", x, n.scalar(1, like=x))
    found = n.emit("sign", x)
    return n.emit("where", n.emit("is_nan", x), x, found) if is_float(x) else found


@onnx_op("Erf", 9, 13)
def erf(n: NodeContext) -> Tensor:
    """Integers, which version 9 allows, give the function's value truncated toward zero: 0."""
    return in_floats(n, partial(n.emit, "erf"), n.tensor(0))
