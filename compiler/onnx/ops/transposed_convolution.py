"""ConvTranspose: the gradient of a convolution with respect to its input, along any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from basalt.ops import Dim, Shape, SymDim
from basalt.ops.dims import dim_max

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .convolution import planar, spatial_sizes
from .windows import Window, attribute_per_axis, auto_pad, groups_of, kernel_of, pad_pairs, same_padding

HALF = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class _Spread:
    """How a window spreads each element of an axis: the first ``begin`` places are cut, then ``size`` are kept."""

    window: Window
    begin: int
    size: Dim

    def reach(self, given: Dim) -> Dim:
        """How many places the elements of an axis of a given size reach, nothing cut."""
        return (given - 1) * self.window.stride + self.window.extent


_POINT = _Spread(Window(1), 0, 1)


@onnx_op("ConvTranspose", 1, 11, 22)
def conv_transpose(n: NodeContext) -> Tensor:
    x, weight, bias = n.tensor(0), n.tensor(1), n.optional(2)
    sizes = spatial_sizes(n, x)
    if weight.rank != x.rank:
        raise n.error(f"the weight has rank {weight.rank}, expected the input's, {x.rank}")
    spreads = _spreads(n, sizes, kernel_of(n, weight.shape[2:]))
    for spread in spreads:
        if isinstance(spread.size, int) and spread.size < 1:
            raise n.error(f"the output's spatial sizes are {[s.size for s in spreads]}, expected at least 1")
    narrow = len(spreads) > 2 and x.dtype in HALF
    if narrow:
        # Overlapping parts are added here, which must not round each time.
        dtype, (x, weight) = x.dtype, (n.cast(x, "float32"), n.cast(weight, "float32"))
        bias = None if bias is None else n.cast(bias, "float32")
    y = _spread_all(n, x, weight, bias, spreads)
    return n.cast(y, dtype) if narrow else y


def _spreads(n: NodeContext, sizes: Shape, kernel: Sequence[int]) -> list[_Spread]:
    """What the attributes say.

    An odd padding that is computed is larger at the end for SAME_UPPER, else at the beginning. The equations of
    version 1 have it the other way round, against that version's own text of ``auto_pad`` and ONNX Runtime.
    """
    rank = len(kernel)
    strides = attribute_per_axis(n, "strides", rank, 1, 1)
    dilations = attribute_per_axis(n, "dilations", rank, 1, 1)
    extra = attribute_per_axis(n, "output_padding", rank, 0, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, strides, dilations)):
        raise n.error(f"attribute output_padding is {list(extra)}, expected less than strides or dilations")
    windows = [Window(k, s, d) for k, s, d in zip(kernel, strides, dilations)]
    reach = [(size - 1) * w.stride + w.extent for size, w in zip(sizes, windows)]
    mode = auto_pad(n)
    stated = _stated_sizes(n, rank)
    if stated is None and mode not in ("SAME_UPPER", "SAME_LOWER"):
        pads = pad_pairs(n, rank) if mode == "NOTSET" else [(0, 0)] * rank
        return [_Spread(w, b, r - b - e + o) for w, r, o, (b, e) in zip(windows, reach, extra, pads)]
    wanted: Shape = stated or tuple(size * w.stride for size, w in zip(sizes, windows))
    spreads = []
    for window, r, o, size in zip(windows, reach, extra, wanted):
        (total,) = n.static(dim_max(r + o - size, 0))
        spreads.append(_Spread(window, same_padding(total, lower=mode != "SAME_UPPER")[0], size))
    return spreads


def _stated_sizes(n: NodeContext, rank: int) -> tuple[int, ...] | None:
    stated = n.attr("output_shape", None)
    if not stated:
        return None
    # Old exporters stated the batch and the channels too.
    if len(stated) not in (rank, rank + 2):
        raise n.error(f"attribute output_shape has {len(stated)} values, expected {rank}")
    return tuple(stated[-rank:])


def _spread_all(n: NodeContext, x: Tensor, weight: Tensor, bias: Tensor | None, spreads: Sequence[_Spread]) -> Tensor:
    """The result along any number of axes: one by one down to two, which the core takes."""
    if len(spreads) == 1:
        row, taps = (*x.shape[:2], 1, x.shape[2]), (*weight.shape[:2], 1, weight.shape[2])
        y = _planar(n, n.reshape(x, row), n.reshape(weight, taps), bias, [_POINT, *spreads])
        return n.reshape(y, (*y.shape[:2], y.shape[3]))
    if len(spreads) == 2:
        return _planar(n, x, weight, bias, spreads)
    batch, channels, size, *rest = x.shape
    depth, outputs, length, *kernel = weight.shape
    slices = n.reshape(n.transpose(x, (0, 2, 1, *range(3, x.rank))), (batch * size, channels, *rest))
    y = _spread_all(n, slices, n.reshape(weight, (depth, outputs * length, *kernel)), None, spreads[1:])
    y = n.reshape(y, (batch, size, outputs * groups_of(n), length, *y.shape[2:]))
    y = _overlapped(n, n.transpose(y, (0, 2, 3, 1, *range(4, y.rank))), spreads[0])
    return y if bias is None else n.emit("add", y, n.reshape(bias, (bias.shape[0], *[1] * len(spreads))))


def _overlapped(n: NodeContext, parts: Tensor, spread: _Spread) -> Tensor:
    """[n, o, taps, size, ...]: the slices that each tap gives, added up where the window puts them."""
    batch, channels, _, size, *rest = parts.shape
    window, reach = spread.window, spread.reach(size)
    if window.dilation == 1 and window.stride > 1:
        return _fitted(n, _interleaved(n, parts, window), spread)
    total: Tensor | None = None
    for tap in range(window.length):
        part = n.reshape(n.slice(parts, 2, tap, 1), (batch, channels, size, *rest))
        apart = _stretched(n, part, window.stride)
        first = tap * window.dilation
        placed = _pad_axis(n, apart, first, reach - first - apart.shape[2])
        total = placed if total is None else n.emit("add", total, placed)
    assert total is not None
    return _fitted(n, total, spread)


def _interleaved(n: NodeContext, parts: Tensor, window: Window) -> Tensor:
    """As :func:`_overlapped`, nothing cut: taps within a stride lie beside each other, and only others are added up."""
    stride, count = window.stride, -(-window.length // window.stride)
    parts = _pad_axis(n, parts, 0, count * stride - window.length)
    batch, channels, _, size, *rest = parts.shape
    total: Tensor | None = None
    for j in range(count):
        beside = n.transpose(n.slice(parts, 2, j * stride, stride), (0, 1, 3, 2, *range(4, parts.rank)))
        part = n.reshape(beside, (batch, channels, size * stride, *rest))
        placed = _pad_axis(n, part, j * stride, (count - 1 - j) * stride)
        total = placed if total is None else n.emit("add", total, placed)
    assert total is not None
    return total


def _stretched(n: NodeContext, x: Tensor, stride: int) -> Tensor:
    """The third axis with zeros between its elements, so that they lie ``stride`` apart."""
    if stride == 1:
        return x
    batch, channels, size, *rest = x.shape
    column = n.reshape(x, (batch, channels, size, 1, *rest))
    after = [stride - 1 if i == 3 else 0 for i in range(column.rank)]
    wide = n.emit("pad", column, beginning_padding=[0] * column.rank, ending_padding=after)
    return n.slice(n.reshape(wide, (batch, channels, size * stride, *rest)), 2, 0, (size - 1) * stride + 1)


def _fitted(n: NodeContext, x: Tensor, spread: _Spread) -> Tensor:
    """The places of the third axis that are kept; zeros where nothing reaches."""
    missing = spread.begin + spread.size - x.shape[2]
    if isinstance(missing, SymDim):
        (missing,) = n.static(missing)
    return n.slice(_pad_axis(n, x, 0, max(missing, 0)), 2, spread.begin, spread.size)


def _pad_axis(n: NodeContext, x: Tensor, before: Dim, after: Dim, axis: int = 2) -> Tensor:
    if before == 0 and after == 0:
        return x
    pads = [[p if i == axis else 0 for i in range(x.rank)] for p in n.static(before, after)]
    return n.emit("pad", x, beginning_padding=pads[0], ending_padding=pads[1])


def _planar(n: NodeContext, x: Tensor, weight: Tensor, bias: Tensor | None, spreads: Sequence[_Spread]) -> Tensor:
    """The core's operator; places that nothing reaches, of which it allows less than a stride, are added as zeros."""
    windows, missing, extra = [], [], []
    for spread, size in zip(spreads, x.shape[2:]):
        (left,) = n.static(spread.reach(size) - spread.begin - spread.size)
        short = max(-left, 0)
        fits = short < spread.window.stride
        windows.append(
            Window(spread.window.length, spread.window.stride, spread.window.dilation, spread.begin, max(left, 0))
        )
        extra.append(short if fits else 0)
        missing.append(0 if fits else short)
    attrs = {**planar(windows), "groups": groups_of(n), "output_padding": tuple(extra)}
    if not any(missing):
        return n.emit("conv_transpose2d", x, weight, bias, **attrs)
    y = n.emit("conv_transpose2d", x, weight, None, **attrs)
    y = _pad_axis(n, _pad_axis(n, y, 0, missing[0]), 0, missing[1], axis=3)
    return y if bias is None else n.emit("add", y, n.reshape(bias, (bias.shape[0], 1, 1)))
