"""Softmax and LogSoftmax."""

from __future__ import annotations

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .flattening import along_axis
from .precision import in_wide_floats


@onnx_op("Softmax", 1, 11, 13)
def softmax(n: NodeContext) -> Tensor:
    return along_axis(n, lambda x, axis: softmax_of(n, x, axis))


def softmax_of(n: NodeContext, x: Tensor, axis: int) -> Tensor:
    """The softmax along an axis; for short floats each step is rounded, as the standard's function body does."""
    if x.dtype not in ("float16", "bfloat16"):
        return n.emit("softmax", x, axis=axis)
    top = n.emit("reduce_max", x, axes=(axis,), keep_dimensions=True)
    powers = n.emit("exp", n.emit("sub", x, top))
    return n.emit("div", powers, n.emit("reduce_sum", powers, axes=(axis,), keep_dimensions=True))


@onnx_op("LogSoftmax", 1, 11, 13)
def log_softmax(n: NodeContext) -> Tensor:
    return along_axis(n, lambda x, axis: in_wide_floats(n, lambda wide: log_softmax_of(n, wide, axis), x))


def log_softmax_of(n: NodeContext, x: Tensor, axis: int) -> Tensor:
    """``x - max(x) - log(sum(exp(x - max(x))))`` along an axis."""
    shifted = n.emit("sub", x, n.emit("reduce_max", x, axes=(axis,), keep_dimensions=True))
    total = n.emit("reduce_sum", n.emit("exp", shifted), axes=(axis,), keep_dimensions=True)
    return n.emit("sub", shifted, n.emit("log", total))
