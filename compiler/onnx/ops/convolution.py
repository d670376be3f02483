"""Convolutions over any number of axes: Conv."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from basalt.ops import Dim, Shape

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .windows import POINT, Window, groups_of, kernel_of, moving_axes, windows_of

__all__ = ["convolve", "planar", "spatial_sizes"]

NARROW = ("float16", "bfloat16")
Planar = Callable[[Tensor, Tensor, Sequence[Window]], Tensor]
"""Convolves [n, c, h, w] with [o, c / groups, kh, kw]."""


@onnx_op("Conv", 1, 11, 22)
def conv(n: NodeContext) -> Tensor:
    x, weight, bias = n.tensor(0), n.tensor(1), n.optional(2)
    windows = windows_of(n, spatial_sizes(n, x), kernel_of(n, weight.shape[2:]))
    if len(windows) == 3 and weight.shape[1] == 1 and groups_of(n) > 1 and all(w.length > 1 for w in windows):
        dtype = x.dtype
        if dtype in NARROW:
            # Parts are added here, which must not round each time.
            x, weight = n.cast(x, "float32"), n.cast(weight, "float32")
            bias = None if bias is None else n.cast(bias, "float32")
        return n.cast(_slice_by_slice(n, x, weight, bias, windows), dtype)
    return convolve(n, x, weight, windows, partial(_conv2d, n, bias))


def _conv2d(n: NodeContext, bias: Tensor | None, x: Tensor, weight: Tensor, windows: Sequence[Window]) -> Tensor:
    return n.emit("conv2d", x, weight, bias, groups=groups_of(n), **planar(windows))


def _slice_by_slice(
    n: NodeContext, x: Tensor, weight: Tensor, bias: Tensor | None, windows: Sequence[Window]
) -> Tensor:
    """A depthwise convolution along three axes: the sum of planar ones, one for each tap along the first axis.

    With taps as channels its groups would have some channels, and one output: nothing for vectors to run over.
    """
    if weight.rank != x.rank:
        raise n.error(f"the weight has rank {weight.rank}, expected the input's, {x.rank}")
    window = windows[0]
    x = _padded(n, x, window, None)
    count = _count(n, replace(window, begin=0, end=0), x.shape[2])
    batch, channels, _, *rest = x.shape
    x = n.transpose(x, (0, 2, 1, 3, 4))
    total: Tensor | None = None
    for tap in range(window.length):
        part = n.slice(x, 1, tap * window.dilation, (count - 1) * window.stride + 1, window.stride)
        part = n.reshape(part, (batch * count, channels, *rest))
        taps = n.reshape(n.slice(weight, 2, tap, 1), (*weight.shape[:2], *weight.shape[3:]))
        own = _conv2d(n, None if tap else bias, part, taps, windows[1:])
        total = own if total is None else n.emit("add", total, own)
    assert total is not None
    return n.transpose(n.reshape(total, (batch, count, *total.shape[1:])), (0, 2, 1, 3, 4))


def planar(windows: Sequence[Window]) -> dict[str, Any]:
    """The attributes of core operators that say what two windows say."""
    return {
        "padding": tuple(p for w in windows for p in (w.begin, w.end)),
        "strides": tuple(w.stride for w in windows),
        "dilations": tuple(w.dilation for w in windows),
    }


def spatial_sizes(n: NodeContext, x: Tensor) -> Shape:
    """The dimensions of [batch, channels, ...] after the first two, of which there must be one or more."""
    if x.rank < 3:
        raise n.error(f"input {n.input_name(0)} has rank {x.rank}, expected batch, channels and at least one axis")
    return x.shape[2:]


def convolve(
    n: NodeContext,
    x: Tensor,
    weight: Tensor,
    windows: Sequence[Window],
    conv2d: Planar,
    zero: Tensor | None = None,
) -> Tensor:
    """A convolution along any number of axes by a planar one.

    Along one axis the input is an image of one row. Along three and more, the elements that a window meets along the
    first axis become channels: [n, c, d, ...] becomes [n * windows, c * taps, ...], so that each sum is one sum.

    Args:
        n: the node.
        x: the input, [n, c, ...].
        weight: the weight, [o, c / groups, ...].
        windows: the window along each axis.
        conv2d: the planar convolution.
        zero: what padding holds, of shape (); 0 by default.
    """
    if weight.rank != x.rank:
        raise n.error(f"the weight has rank {weight.rank}, expected the input's, {x.rank}")
    axes = moving_axes(x.shape[2:], windows)
    if len(axes) < len(windows) and (len(windows) > 2 or axes == [0]):
        return _convolve_along(n, x, weight, windows, axes, conv2d, zero)
    if len(windows) > 2 and (y := _convolve_merged(n, x, weight, windows, conv2d, zero)) is not None:
        return y
    if len(windows) == 1:
        row, taps = (*x.shape[:2], 1, x.shape[2]), (*weight.shape[:2], 1, weight.shape[2])
        y = conv2d(n.reshape(x, row), n.reshape(weight, taps), [POINT, *windows])
        return n.reshape(y, (*y.shape[:2], y.shape[3]))
    if len(windows) == 2:
        return conv2d(x, weight, windows)
    window = windows[0]
    count = _count(n, window, x.shape[2])
    slices = _taps_as_channels(n, _padded(n, x, window, zero), window)
    outputs, depth, length, *kernel = weight.shape
    y = convolve(n, slices, n.reshape(weight, (outputs, depth * length, *kernel)), windows[1:], conv2d, zero)
    y = n.reshape(y, (x.shape[0], count, *y.shape[1:]))
    return n.transpose(y, (0, 2, 1, *range(3, y.rank)))


def _count(n: NodeContext, window: Window, size: Dim) -> Dim:
    """How many windows lie along an axis of some size: one or more."""
    count = window.count(size)
    if isinstance(count, int) and count < 1:
        raise n.error(
            f"the window spans {window.extent} places, but the padded input has only {size + window.begin + window.end}"
        )
    return count


def _convolve_along(
    n: NodeContext,
    x: Tensor,
    weight: Tensor,
    windows: Sequence[Window],
    axes: Sequence[int],
    conv2d: Planar,
    zero: Tensor | None,
) -> Tensor:
    """The convolution along some axes, where the others have one element and one tap."""
    x, weight = (n.reshape(t, (*t.shape[:2], *[t.shape[2 + i] for i in axes])) for t in (x, weight))
    y = convolve(n, x, weight, [windows[i] for i in axes], conv2d, zero)
    sizes = dict(zip(axes, y.shape[2:]))
    return n.reshape(y, (*y.shape[:2], *[sizes.get(i, 1) for i in range(len(windows))]))


def _convolve_merged(
    n: NodeContext,
    x: Tensor,
    weight: Tensor,
    windows: Sequence[Window],
    conv2d: Planar,
    zero: Tensor | None,
) -> Tensor | None:
    """The convolution with neighbouring axes of single taps as one axis; None if there are none."""
    windows = list(windows)
    for axis, window in enumerate(windows):
        count = _count(n, window, x.shape[2 + axis])
        if window.length == 1 and not window.begin and not window.end:
            windows[axis] = POINT
            if window.stride > 1:
                x = n.slice(x, 2 + axis, 0, (count - 1) * window.stride + 1, window.stride)
    pairs = [i for i in range(len(windows) - 1) if windows[i] == windows[i + 1] == POINT]
    if not pairs:
        return None
    at = pairs[0]
    sizes, taps = list(x.shape), list(weight.shape)
    merged = n.reshape(x, (*sizes[: at + 2], sizes[at + 2] * sizes[at + 3], *sizes[at + 4 :]))
    y = convolve(
        n,
        merged,
        n.reshape(weight, (*taps[: at + 2], *taps[at + 3 :])),
        [*windows[:at], POINT, *windows[at + 2 :]],
        conv2d,
        zero,
    )
    return n.reshape(y, (*y.shape[: at + 2], *sizes[at + 2 : at + 4], *y.shape[at + 3 :]))


def _taps_as_channels(n: NodeContext, x: Tensor, window: Window) -> Tensor:
    """[n, c, d, ...] as [n * count, c * taps, ...]: for each window along the third axis the slices that it meets."""
    batch, channels, size, *rest = x.shape
    count = (size - window.extent) // window.stride + 1
    span = (count - 1) * window.stride + 1
    slices = [n.slice(x, 2, t * window.dilation, span, window.stride) for t in range(window.length)]
    if len(slices) == 1:
        stacked = n.reshape(slices[0], (batch, channels, 1, count, *rest))
    else:
        stacked = n.emit("concat", *[n.reshape(s, (batch, channels, 1, count, *rest)) for s in slices], axis=2)
    ordered = n.transpose(stacked, (0, 3, 1, 2, *range(4, stacked.rank)))
    return n.reshape(ordered, (batch * count, channels * window.length, *rest))


def _padded(n: NodeContext, x: Tensor, window: Window, zero: Tensor | None) -> Tensor:
    """[n, c, d, ...] with the window's padding along the third axis."""
    if not window.begin and not window.end:
        return x
    if zero is None:
        before, after = ([p if i == 2 else 0 for i in range(x.rank)] for p in (window.begin, window.end))
        return n.emit("pad", x, beginning_padding=before, ending_padding=after)
    fill = n.reshape(zero, (1,) * x.rank)
    beside = [
        [n.expand(fill, (*x.shape[:2], size, *x.shape[3:]))] if size else [] for size in (window.begin, window.end)
    ]
    return n.emit("concat", *beside[0], x, *beside[1], axis=2)
