"""Normalisation in evaluation mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops.dims import product

from ...onnx.tensor import Tensor, onnx_dtype
from ..context import AtenContext
from ..registry import aten


@aten("_native_batch_norm_legit_no_training.default")
def batch_norm_legit(
    n: AtenContext,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor | None, ...]:
    return _batch_norm(n, x, weight, bias, mean, variance, eps), None, None


@aten("_native_batch_norm_legit.no_stats")
def batch_norm_of_batch(
    n: AtenContext, x: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor | None, ...]:
    return batch_norm(n, x, weight, bias, None, None, training, momentum, eps), None, None


@aten("batch_norm.default")
def batch_norm(
    n: AtenContext,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    if training or mean is None or variance is None:
        axes = (0, *range(2, x.rank))
        mean = n.emit("reduce_mean", x, axes=axes)
        centred = n.emit("sub", x, n.reshape(mean, (mean.shape[0], *[1] * (x.rank - 2))))
        variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes)
    return _batch_norm(n, x, weight, bias, mean, variance, eps)


def _batch_norm(
    n: AtenContext, x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, variance: Tensor, eps: float
) -> Tensor:
    parts = [None if t is None else n.cast(t, x.dtype) for t in (mean, variance, weight, bias)]
    return n.emit("batch_normalization", x, *parts, axis=1, epsilon=float(eps))


@aten("layer_norm.default")
def layer_norm(
    n: AtenContext,
    x: Tensor,
    shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = False,
) -> Tensor:
    axes = tuple(range(x.rank - len(shape), x.rank))
    return n.emit("layer_normalization", x, weight, bias, axes=axes, epsilon=float(eps))


@aten("native_layer_norm.default")
def native_layer_norm(
    n: AtenContext, x: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor | None, ...]:
    axes = tuple(range(x.rank - len(shape), x.rank))
    moments = _moments(n, x, axes, eps) if n.read & {1, 2} else (None, None)
    return (layer_norm(n, x, shape, weight, bias, eps), *moments)


def _moments(n: AtenContext, x: Tensor, axes: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """The mean, and one by the standard deviation, along some axes, which stay as ones."""
    mean = n.emit("reduce_mean", x, axes=axes, keep_dimensions=True)
    centred = n.emit("sub", x, mean)
    variance = n.emit("reduce_mean", n.emit("mul", centred, centred), axes=axes, keep_dimensions=True)
    deviation = n.emit("sqrt", n.emit("add", variance, n.scalar(eps, x)))
    return mean, n.emit("reciprocal", deviation)


@aten("rms_norm.default", "_fused_rms_norm.default")
def rms_norm(
    n: AtenContext, x: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Any:
    # Torch's own default is that of the data type in which it computes.
    eps = float(np.finfo(np.float64 if x.dtype == "float64" else np.float32).eps) if eps is None else eps
    scale = n.constant(np.ones([int(s) for s in shape], onnx_dtype(x.dtype))) if weight is None else weight
    y: Tensor = n.call("RMSNormalization", x, scale, axis=-len(shape), epsilon=float(eps))
    return y if n.op == "aten::rms_norm.default" else (y, None)


@aten("group_norm.default")
def group_norm(
    n: AtenContext,
    x: Tensor,
    groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = False,
) -> Tensor:
    scale, shift = _per_channel(n, x, weight, bias)
    return n.call("GroupNormalization", x, scale, shift, num_groups=groups, epsilon=float(eps))


@aten("native_group_norm.default")
def native_group_norm(
    n: AtenContext,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: Any,
    channels: Any,
    plane: Any,
    groups: int,
    eps: float,
) -> tuple[Tensor | None, ...]:
    y = group_norm(n, x, groups, weight, bias, eps)
    if not n.read & {1, 2}:
        return y, None, None
    rows = n.reshape(x, (x.shape[0], groups, product((x.shape[1] // groups, *x.shape[2:]))))
    mean, deviation = _moments(n, rows, (2,), eps)
    shape = (x.shape[0], groups)
    return y, n.reshape(mean, shape), n.reshape(deviation, shape)


@aten("instance_norm.default")
def instance_norm(
    n: AtenContext,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    if not use_input_stats and mean is not None and variance is not None:
        return _batch_norm(n, x, weight, bias, mean, variance, eps)
    return n.call("InstanceNormalization", x, *_per_channel(n, x, weight, bias), epsilon=float(eps))


def _per_channel(n: AtenContext, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    (channels,) = n.static(x.shape[1])
    dtype = onnx_dtype(x.dtype)
    return (
        n.constant(np.ones(channels, dtype)) if weight is None else weight,
        n.constant(np.zeros(channels, dtype)) if bias is None else bias,
    )
