"""Operators on truth values and on bits."""

from __future__ import annotations

from functools import partial

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .broadcasting import operands

_CONNECTIVES = {"And": "logical_and", "Or": "logical_or", "Xor": "logical_xor"}
_BITWISE = {"BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor"}


def _connective(n: NodeContext, op: str) -> Tensor:
    return n.emit(op, *operands(n), dtype="bool")


def _bitwise(n: NodeContext, op: str) -> Tensor:
    return n.emit(op, n.tensor(0), n.tensor(1))


for _name, _op in _CONNECTIVES.items():
    onnx_op(_name, 1, 7)(partial(_connective, op=_op))
for _name, _op in _BITWISE.items():
    onnx_op(_name, 18)(partial(_bitwise, op=_op))


@onnx_op("Not", 1)
def logical_not(n: NodeContext) -> Tensor:
    return n.emit("logical_not", n.tensor(0), dtype="bool")


@onnx_op("BitwiseNot", 18)
def bitwise_not(n: NodeContext) -> Tensor:
    return n.emit("bitwise_not", n.tensor(0))


@onnx_op("BitShift", 11, 28)
def bit_shift(n: NodeContext) -> Tensor:
    direction = n.attr("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise n.error(f"attribute direction is {direction!r}, expected LEFT or RIGHT")
    return n.emit("shift_left" if direction == "LEFT" else "shift_right", n.tensor(0), n.tensor(1))
