"""Normalisations: ONNX's operators where they say the same, else arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.ops import Dim

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor


@exports("batch_normalization")
def batch_normalization(n: NodeWriter) -> Tensor:
    """ONNX's has its channels in axis 1, and an epsilon of float32."""
    x, axis, rank = n["input"], n.attrs["axis"], n.type("input").rank
    if axis == 1 and x.dtype != "float64":
        channels = (n.type("input").shape[1],)
        scale, bias = (_or_filled(n, name, value, channels) for name, value in (("scale", 1.0), ("bias", 0.0)))
        epsilon = float(n.attrs["epsilon"])
        return n.call("BatchNormalization", x, scale, bias, n["mean"], n["variance"], epsilon=epsilon)
    parts = [n.get(name) for name in ("mean", "variance", "scale", "bias")]
    mean, variance, scale, bias = (t if t is None else n.along(n.widened(t), axis, rank) for t in parts)  # type: ignore[assignment]
    assert mean is not None and variance is not None
    return _scaled(n, n.call("Sub", n.widened(x), mean), variance, scale, bias)


def _or_filled(n: NodeWriter, name: str, value: float, dims: Sequence[Dim]) -> Tensor:
    given = n.get(name)
    return n.filled(value, n["input"].dtype, dims) if given is None else given


def _scaled(n: NodeWriter, centred: Tensor, variance: Tensor, scale: Tensor | None, bias: Tensor | None) -> Tensor:
    """``centred / sqrt(variance + epsilon) * scale + bias``."""
    deviation = n.call("Sqrt", n.call("Add", variance, n.scalar(n.attrs["epsilon"], centred.dtype)))
    result = n.call("Div", centred, deviation)
    if scale is not None:
        result = n.call("Mul", result, scale)
    return result if bias is None else n.call("Add", result, bias)


def _by_itself(n: NodeWriter, x: Tensor, axes: Sequence[int], scale: Tensor | None, bias: Tensor | None) -> Tensor:
    """A tensor normalised by its own mean and variance over axes."""
    mean = n.reduce("ReduceMean", x, axes, keep=True) if axes else x
    centred = n.call("Sub", x, mean)
    square = n.call("Mul", centred, centred)
    variance = n.reduce("ReduceMean", square, axes, keep=True) if axes else square
    return _scaled(n, centred, variance, scale, bias)


@exports("instance_normalization")
def instance_normalization(n: NodeWriter) -> Tensor:
    layout = n.attrs["layout"]
    channel, rows, columns = (layout.index(letter) for letter in "chw")
    if n["input"].dtype == "float64":
        scale, bias = (t if t is None else n.along(t, channel, 4) for t in (n.get("scale"), n.get("bias")))
        return _by_itself(n, n["input"], (rows, columns), scale, bias)
    channels = (n.type("input").shape[channel],)
    scale, bias = _or_filled(n, "scale", 1.0, channels), _or_filled(n, "bias", 0.0, channels)
    image = n.arrange(n["input"], layout, "nchw")
    result = n.call("InstanceNormalization", image, scale, bias, epsilon=float(n.attrs["epsilon"]))
    return n.arrange(result, "nchw", layout)


@exports("layer_normalization")
def layer_normalization(n: NodeWriter) -> Tensor:
    """ONNX's goes over the last axes, and computes in float32."""
    x, axes, rank = n["input"], n.attrs["axes"], n.type("input").rank
    ordered = sorted(axes)
    order = [axes.index(axis) for axis in ordered]
    scale, bias = (t if t is None else n.transpose(t, order) for t in (n.get("scale"), n.get("bias")))
    if ordered and ordered == list(range(ordered[0], rank)) and x.dtype != "float64":
        dims = n.type("input").shape[ordered[0] :]
        if scale is None:
            scale = n.filled(1.0, x.dtype, dims)
        return n.call("LayerNormalization", x, scale, bias, axis=ordered[0], epsilon=float(n.attrs["epsilon"]))
    shape = [d if i in axes else 1 for i, d in enumerate(n.type("input").shape)]
    scale, bias = (t if t is None else n.reshape(n.widened(t), shape) for t in (scale, bias))
    return _by_itself(n, n.widened(x), ordered, scale, bias)
