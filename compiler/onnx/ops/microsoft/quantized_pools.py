"""Quantised pools and reductions of ONNX Runtime, and those whose channels come last."""

from __future__ import annotations

from collections.abc import Callable

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from .quantized_elements import dequantised, quantised

__all__ = ["channels_first"]

_POOL = ("auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides")


def channels_first(n: NodeContext, x: Tensor, last: bool, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """What a function gives for a tensor whose channels it wants at axis 1, with channels where they were."""
    if not last or x.rank < 3:
        return compute(x)
    ahead = (0, x.rank - 1, *range(1, x.rank - 1))
    back = (0, *range(2, x.rank), 1)
    return n.transpose(compute(n.transpose(x, ahead)), back)


@onnx_op("QLinearGlobalAveragePool", 1, domain=MICROSOFT)
def qlinear_global_average_pool(n: NodeContext) -> Tensor:
    x = dequantised(n, 0)
    first = 1 if n.attr("channels_last") else 2
    axes = tuple(range(first, first + x.rank - 2))
    return quantised(n, n.emit("reduce_mean", x, axes=axes, keep_dimensions=True), 3, n.tensor(0).dtype)


@onnx_op("QLinearAveragePool", 1, domain=MICROSOFT)
def qlinear_average_pool(n: NodeContext) -> Tensor:
    given = {name: n.attributes[name] for name in _POOL if n.has(name)}
    y = channels_first(
        n, dequantised(n, 0), bool(n.attr("channels_last")), lambda x: n.call("AveragePool", x, version=11, **given)
    )
    return quantised(n, y, 3, n.tensor(0).dtype)


@onnx_op("QLinearReduceMean", 1, domain=MICROSOFT)
def qlinear_reduce_mean(n: NodeContext) -> Tensor:
    y = _reduced(n, "reduce_mean", dequantised(n, 0))
    return quantised(n, y, 3, n.tensor(0).dtype)


@onnx_op("ReduceSumInteger", 1, domain=MICROSOFT)
def reduce_sum_integer(n: NodeContext) -> Tensor:
    return _reduced(n, "reduce_sum", n.emit("cast", n.tensor(0), data_type="int32"))


def _reduced(n: NodeContext, op: str, x: Tensor) -> Tensor:
    axes = tuple(n.axis(a, x.rank, "axes") for a in n.attr("axes")) or tuple(range(x.rank))
    return n.emit(op, x, axes=tuple(sorted(set(axes))), keep_dimensions=bool(n.attr("keepdims")))


@onnx_op("NhwcMaxPool", 1, domain=MICROSOFT)
def nhwc_max_pool(n: NodeContext) -> Tensor:
    given = {name: n.attributes[name] for name in _POOL if n.has(name)}
    return channels_first(n, n.tensor(0), True, lambda x: n.call("MaxPool", x, version=12, **given))


@onnx_op("MaxpoolWithMask", 1, domain=MICROSOFT)
def maxpool_with_mask(n: NodeContext) -> Tensor:
    """Elements whose mask is 0 don't count; windows without any other give the lowest number."""
    x, mask = n.tensor(0), n.tensor(1)
    hidden = n.emit("equal", mask, n.scalar(0, mask), dtype="bool")
    lowest = n.scalar(-3.4028234663852886e38, x)
    given = {name: n.attributes[name] for name in (*_POOL, "storage_order") if n.has(name)}
    return n.call("MaxPool", n.emit("where", hidden, lowest, x), version=8, **given)
