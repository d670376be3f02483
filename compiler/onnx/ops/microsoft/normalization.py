"""Layer normalisations of ONNX Runtime, joined with what comes before them, and its forms older than the standard's."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, wide


def _normalised(
    n: NodeContext, x: Tensor, scale: Tensor, bias: Tensor | None, axis: int, simplified: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The normalisation over all axes from ``axis`` on, the mean and the reciprocal of the deviation.

    All in float32 or float64; simplified is the root mean square (Zhang and Sennrich 2019), whose mean is taken as 0.
    """
    axes = tuple(range(axis, x.rank))
    work = "float64" if x.dtype == "float64" else "float32"
    held = convert(n, x, work)
    centred = mean = held
    if not simplified:
        mean = n.emit("reduce_mean", held, axes=axes, keep_dimensions=True)
        centred = n.emit("sub", held, mean)
    variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keep_dimensions=True)
    deviation = n.emit("sqrt", n.emit("add", variance, n.scalar(n.attr("epsilon"), held)))
    if simplified or bias is None:
        y = n.emit("mul", n.emit("div", centred, deviation), convert(n, scale, work))
        y = y if bias is None else n.emit("add", y, convert(n, bias, work))
    else:
        epsilon = n.attr("epsilon")
        gain, offset = convert(n, scale, work), convert(n, bias, work)
        y = n.emit("layer_normalization", held, gain, offset, axes=axes, epsilon=epsilon)
    return y, mean, n.emit("reciprocal", deviation)


def _outputs(n: NodeContext, x: Tensor, y: Tensor, *statistics: Tensor) -> tuple[Tensor, ...]:
    return (convert(n, y, x.dtype), *[convert(n, s, "float32") for s in statistics])


@onnx_op("LayerNormalization", 1)
@onnx_op("LayerNormalization", 1, domain=MICROSOFT)
def layer_normalization(n: NodeContext) -> tuple[Tensor, ...]:
    x, scale = n.tensor(0), n.tensor(1)
    y, mean, inverse = _normalised(n, x, scale, n.optional(2), n.axis(n.attr("axis"), x.rank))
    return _outputs(n, scale, y, mean, inverse)


@onnx_op("SimplifiedLayerNormalization", 1)
@onnx_op("SimplifiedLayerNormalization", 1, domain=MICROSOFT)
def simplified_layer_normalization(n: NodeContext) -> tuple[Tensor, ...]:
    x, scale = n.tensor(0), n.tensor(1)
    y, _, inverse = _normalised(n, x, scale, None, n.axis(n.attr("axis"), x.rank), simplified=True)
    return _outputs(n, scale, y, inverse)


@onnx_op("SkipLayerNormalization", 1, domain=MICROSOFT)
def skip_layer_normalization(n: NodeContext) -> tuple[Tensor, ...]:
    return _skip(n, n.optional(3), n.optional(4), False)


@onnx_op("SkipSimplifiedLayerNormalization", 1, domain=MICROSOFT)
def skip_simplified_layer_normalization(n: NodeContext) -> tuple[Tensor, ...]:
    return _skip(n, None, n.optional(3), True)


def _skip(n: NodeContext, shift: Tensor | None, bias: Tensor | None, simplified: bool) -> tuple[Tensor, ...]:
    """The sum of input, skip and bias, normalised; its fourth output is the sum."""
    x, skip = n.tensor(0), n.tensor(1)
    work = wide(x.dtype)
    total = n.emit("add", convert(n, x, work), convert(n, skip, work))
    if bias is not None:
        total = n.emit("add", total, convert(n, bias, work))
    y, mean, inverse = _normalised(n, total, n.tensor(2), shift, total.rank - 1, simplified)
    return (*_outputs(n, x, y, mean, inverse), convert(n, total, x.dtype))
