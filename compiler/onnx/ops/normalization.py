"""Normalization of a tensor by its own mean and variance, or by a norm.

In the types of 16 bits all steps are taken in float32 and the result is rounded once, as ONNX Runtime does; the
standard's function bodies round between their two stages as well. Float64 stays float64 whatever ``stash_type`` says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops.dims import product

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .pooling import widened

__all__ = ["along_channels", "moments"]

MOST_SLICES = 9
"""Neighbouring channels beyond which their sum is a pool's."""


def moments(n: NodeContext, x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """The mean over axes (kept with size 1), the deviation from it, and the variance of the whole population."""
    mean = n.emit("reduce_mean", x, axes=tuple(axes), keep_dimensions=True)
    deviation = n.emit("sub", x, mean)
    square = n.emit("mul", deviation, deviation)
    return mean, deviation, n.emit("reduce_mean", square, axes=tuple(axes), keep_dimensions=True)


def along_channels(n: NodeContext, x: Tensor, rank: int, axis: int = 1) -> Tensor:
    """A vector shaped to lie along one axis of a tensor of a rank."""
    return n.reshape(x, tuple(x.shape[0] if i == axis else 1 for i in range(rank)))


def _scaled(n: NodeContext, x: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
    y = n.emit("mul", x, n.cast(scale, x.dtype))
    return y if bias is None else n.emit("add", y, n.cast(bias, x.dtype))


@onnx_op("InstanceNormalization", 1, 6, 22)
def instance_normalization(n: NodeContext) -> Tensor:
    x, scale, bias = n.tensor(0), n.tensor(1), n.tensor(2)
    if x.rank < 2:
        raise n.error(f"the input has rank {x.rank}, expected batch, channels and more")
    # The sizes after the channels are merged: the core has two of them.
    image = n.reshape(x, (*x.shape[:2], 1, product(x.shape[2:])))
    y = n.emit("instance_normalization", image, scale, bias, epsilon=n.attr("epsilon"))
    return n.reshape(y, x.shape)


@onnx_op("GroupNormalization", 18)
def group_normalization_by_group(n: NodeContext) -> Tensor:
    groups = n.attr("num_groups")
    scale, bias = (_each_repeated(n, n.tensor(i), _channels_per_group(n, n.tensor(0), groups)) for i in (1, 2))
    return _group_normalization(n, scale, bias)


@onnx_op("GroupNormalization", 21)
def group_normalization(n: NodeContext) -> Tensor:
    return _group_normalization(n, n.tensor(1), n.tensor(2))


def _channels_per_group(n: NodeContext, x: Tensor, groups: int) -> int:
    if x.rank < 2:
        raise n.error(f"input X has rank {x.rank}, expected batch, channels and more")
    (channels,) = n.static(x.shape[1])
    if groups < 1 or channels % groups:
        raise n.error(f"{channels} channels cannot be divided into {groups} groups")
    return channels // groups


def _each_repeated(n: NodeContext, x: Tensor, times: int) -> Tensor:
    """A vector with each element several times over."""
    return n.reshape(n.expand(n.reshape(x, (x.shape[0], 1)), (x.shape[0], times)), (x.shape[0] * times,))


def _group_normalization(n: NodeContext, scale: Tensor, bias: Tensor) -> Tensor:
    x, groups = n.tensor(0), n.attr("num_groups")
    _channels_per_group(n, x, groups)
    wide = widened(n, x)
    lines = n.reshape(wide, (x.shape[0] * groups, product(x.shape[1:]) // groups))
    normal = n.emit("layer_normalization", lines, axes=(1,), epsilon=n.attr("epsilon"))
    scale, bias = (along_channels(n, v, x.rank) for v in (scale, bias))
    return n.cast(_scaled(n, n.reshape(normal, x.shape), scale, bias), x.dtype)


@onnx_op("LayerNormalization", 17)
def layer_normalization(n: NodeContext) -> Tensor | tuple[Tensor, ...]:
    x, scale, bias = n.tensor(0), n.tensor(1), n.optional(2)
    axes = range(n.axis(n.attr("axis"), x.rank), x.rank)
    wide = widened(n, x)
    if n.wants(1) or n.wants(2):
        return _with_statistics(n, wide, axes, scale, bias, x.dtype)
    epsilon = n.attr("epsilon")
    whole = x.shape[axes.start :]
    if scale.shape == whole and (bias is None or bias.shape == whole):
        parameters = [None if p is None else n.cast(p, wide.dtype) for p in (scale, bias)]
        return n.cast(n.emit("layer_normalization", wide, *parameters, axes=tuple(axes), epsilon=epsilon), x.dtype)
    normal = n.emit("layer_normalization", wide, axes=tuple(axes), epsilon=epsilon)
    return n.cast(_scaled(n, normal, scale, bias), x.dtype)


def _with_statistics(
    n: NodeContext, x: Tensor, axes: Sequence[int], scale: Tensor, bias: Tensor | None, dtype: str
) -> tuple[Tensor, ...]:
    mean, deviation, variance = moments(n, x, axes)
    inverse = n.emit("reciprocal", n.emit("sqrt", n.emit("add", variance, n.scalar(n.attr("epsilon"), x))))
    y = n.cast(_scaled(n, n.emit("mul", deviation, inverse), scale, bias), dtype)
    stash = "bfloat16" if n.attr("stash_type") == _BFLOAT16 else "float32"
    return y, n.cast(mean, stash), n.cast(inverse, stash)


_BFLOAT16 = 16


@onnx_op("RMSNormalization", 23)
def rms_normalization(n: NodeContext) -> Tensor:
    x, scale = n.tensor(0), n.tensor(1)
    axes = tuple(range(n.axis(n.attr("axis"), x.rank), x.rank))
    wide = widened(n, x)
    mean = n.emit("reduce_mean", n.emit("mul", wide, wide), axes=axes, keep_dimensions=True)
    root = n.emit("sqrt", n.emit("add", mean, n.scalar(n.attr("epsilon"), wide)))
    normal = n.emit("div", wide, root)
    if scale.dtype == "float64":
        normal = n.cast(normal, "float64")
    return n.cast(_scaled(n, normal, scale, None), scale.dtype)


@onnx_op("MeanVarianceNormalization", 9, 13)
def mean_variance_normalization(n: NodeContext) -> Tensor:
    """The variance is that of the deviations: the standard's difference of two means may be negative."""
    x = n.tensor(0)
    wide = widened(n, x)
    axes = [n.axis(a, x.rank, "axes") for a in n.attr("axes")]
    _, deviation, variance = moments(n, wide, axes)
    spread = n.emit("add", n.emit("sqrt", variance), n.scalar(1e-9, wide))
    return n.cast(n.emit("div", deviation, spread), x.dtype)


@onnx_op("LpNormalization", 1, 22)
def lp_normalization(n: NodeContext) -> Tensor:
    """A line of zeros stays zeros (stated since version 22, and what else it could be is open before)."""
    x, p = n.tensor(0), n.attr("p")
    if p not in (1, 2):
        raise n.error(f"attribute p is {p}, expected 1 or 2")
    axis = n.axis(n.attr("axis"), x.rank)
    wide = widened(n, x)
    norm = n.emit("reduce_l1" if p == 1 else "reduce_l2", wide, axes=(axis,), keep_dimensions=True)
    zero = n.scalar(0, wide)
    quotient = n.emit("div", wide, norm)
    return n.cast(n.emit("where", n.emit("equal", norm, zero), zero, quotient), x.dtype)


@onnx_op("LRN", 1, 13)
def local_response_normalization(n: NodeContext) -> Tensor:
    """``x / (bias + alpha / size * sum of squares) ** beta`` over ``size`` neighbouring channels."""
    x, size = n.tensor(0), n.attr("size")
    if size < 1:
        raise n.error(f"attribute size is {size}, expected at least 1")
    if x.rank < 2:
        raise n.error(f"input X has rank {x.rank}, expected batch, channels and more")
    wide = widened(n, x)
    (channels,) = n.static(x.shape[1])
    before, after = min((size - 1) // 2, channels), min(size // 2, channels)
    squares = n.emit("mul", wide, wide)
    sums = _sums_of_slices if before + 1 + after <= MOST_SLICES else _sums_by_pooling
    total = sums(n, squares, channels, before, after, n.attr("alpha") / size)
    base = n.emit("add", total, n.scalar(n.attr("bias"), wide))
    return n.cast(
        n.emit("div", wide, _power(n, base, n.attr("beta"), min(n.attr("alpha"), n.attr("bias")) >= 0)), x.dtype
    )


def _sums_of_slices(n: NodeContext, squares: Tensor, channels: int, before: int, after: int, factor: float) -> Tensor:
    """Sums over neighbouring channels times a factor, as that of shifted images: one kernel with what follows."""
    ends = [tuple(size if axis == 1 else 0 for axis in range(squares.rank)) for size in (before, after)]
    if before + after:
        squares = n.emit("pad", squares, beginning_padding=ends[0], ending_padding=ends[1])
    total = n.slice(squares, 1, 0, channels)
    for first in range(1, before + 1 + after):
        total = n.emit("add", total, n.slice(squares, 1, first, channels))
    return n.emit("mul", total, n.scalar(factor, squares))


def _sums_by_pooling(n: NodeContext, squares: Tensor, channels: int, before: int, after: int, factor: float) -> Tensor:
    """The same as means, each times the number of channels that it is of."""
    shape = squares.shape
    rows = n.reshape(squares, (shape[0], 1, shape[1], product(shape[2:])))
    window, padding = (before + 1 + after, 1), (before, after, 0, 0)
    mean = n.emit("average_pool2d", rows, window_dimensions=window, padding=padding)
    counts = np.array([_neighbours(c, before, after, channels) for c in range(channels)], np.float64)
    factors = (counts * factor).reshape(channels, 1)
    return n.reshape(n.emit("mul", mean, n.constant(factors, squares.dtype)), shape)


def _power(n: NodeContext, base: Tensor, exponent: float, positive: bool) -> Tensor:
    """A power of what is no negative number: that which networks use takes but two roots, within 2.5 ULP."""
    if not positive or exponent != 0.75:
        return n.emit("pow", base, n.scalar(exponent, base))
    root = n.emit("sqrt", base)
    return n.emit("mul", root, n.emit("sqrt", root))


def _neighbours(channel: int, before: int, after: int, channels: int) -> int:
    """How many channels there are from so many before one to so many after it."""
    return min(channel + after, channels - 1) - max(channel - before, 0) + 1
