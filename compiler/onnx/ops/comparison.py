"""Comparisons, tests for NaN and infinities, selection."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .broadcasting import operands
from .small_floats import SMALL_FLOATS, bits_table, look_up


def _compare(n: NodeContext, op: str) -> Tensor:
    return n.emit(op, *operands(n), dtype="bool")


onnx_op("Equal", 1, 7, 11, 13, 19)(partial(_compare, op="equal"))
onnx_op("Greater", 1, 7, 9, 13)(partial(_compare, op="greater"))
onnx_op("Less", 1, 7, 9, 13)(partial(_compare, op="lesser"))
onnx_op("GreaterOrEqual", 12, 16)(partial(_compare, op="greater_or_equal"))
onnx_op("LessOrEqual", 12, 16)(partial(_compare, op="lesser_or_equal"))


@onnx_op("Where", 9, 16)
def where(n: NodeContext) -> Tensor:
    return n.emit("where", n.tensor(0), n.tensor(1), n.tensor(2))


@onnx_op("IsNaN", 9, 13, 20)
def is_nan(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    if x.dtype in SMALL_FLOATS:
        return look_up(n, x, np.isnan(bits_table(x.dtype, "float32")))
    return n.emit("is_nan", x, dtype="bool")


@onnx_op("IsInf", 10, 20)
def is_inf(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    positive, negative = bool(n.attr("detect_positive")), bool(n.attr("detect_negative"))
    if not (positive or negative):
        return n.expand(n.constant(False), x.shape)
    if x.dtype in SMALL_FLOATS:
        values = bits_table(x.dtype, "float32")
        return look_up(n, x, (np.isposinf(values) & positive) | (np.isneginf(values) & negative))
    if positive and negative:
        return n.emit("is_infinite", x, dtype="bool")
    return n.emit("equal", x, n.scalar(np.inf if positive else -np.inf, like=x), dtype="bool")
