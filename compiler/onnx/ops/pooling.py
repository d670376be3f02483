"""Pooling over windows along any number of axes: MaxPool, AveragePool, LpPool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from basalt.ops import Dim, Shape
from basalt.ops.dims import product

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .convolution import planar, spatial_sizes
from .windows import POINT, Window, attribute_per_axis, moving_axes, rounded_up, windows_of

__all__ = ["HALF", "Rounded", "pool", "pool_windows", "rounding_of", "widened"]

HALF = ("float16", "bfloat16")
Rounded = tuple[Window, bool]
"""A window, and whether the number of its places is rounded up."""


def pool_windows(n: NodeContext, sizes: Shape) -> list[Rounded]:
    """The window along each axis, from the attributes of a pooling operator."""
    if not n.has("kernel_shape"):
        # Only LpPool-1 allows it, and does not say what it means: one window over everything, as Caffe2 had it.
        return [(Window(s), False) for s in n.static(*sizes)]
    kernel = attribute_per_axis(n, "kernel_shape", len(sizes), 1, 1)
    windows = windows_of(n, sizes, kernel)
    ceil = bool(n.attr("ceil_mode", 0)) and (n.attr("auto_pad", None) or "NOTSET") == "NOTSET"
    rounded = [rounded_up(n, w, size) if ceil else (w, False) for w, size in zip(windows, sizes)]
    for (window, _), size in zip(rounded, sizes):
        count = window.count(size)
        if isinstance(count, int) and count < 1:
            raise n.error(f"a window of {window.extent} places does not fit into {size} places and the padding")
    return rounded


def widened(n: NodeContext, x: Tensor) -> Tensor:
    """The tensor in float32 if its type is narrower, for results that take several steps."""
    return n.cast(x, "float32") if x.dtype in HALF else x


def pool(n: NodeContext, op: str, x: Tensor, windows: Sequence[Rounded]) -> Tensor:
    """A planar pooling operator applied along any number of axes, whose result may be that of one axis after another.

    The last two axes are pooled together, those before them one by one.
    """
    sizes = x.shape[2:]
    axes = moving_axes(sizes, [w for w, _ in windows])
    if len(axes) < len(sizes) and (len(sizes) > 2 or axes == [0]):
        y = pool(n, op, n.reshape(x, (*x.shape[:2], *[sizes[i] for i in axes])), [windows[i] for i in axes])
        counts = dict(zip(axes, y.shape[2:]))
        return n.reshape(y, (*y.shape[:2], *[counts.get(i, 1) for i in range(len(sizes))]))
    if len(sizes) == 1:
        y = _pool2d(n, op, n.reshape(x, (*x.shape[:2], 1, *sizes)), [(POINT, False), *windows])
        return n.reshape(y, (*y.shape[:2], y.shape[3]))
    if len(sizes) == 2:
        return _pool2d(n, op, x, windows)
    dims: list = list(x.shape)
    x = n.reshape(x, (dims[0], product(dims[1:-2]), *dims[-2:]))
    x = _pool2d(n, op, x, windows[-2:])
    dims[-2:] = x.shape[-2:]
    for axis in reversed(range(len(windows) - 2)):
        x = n.reshape(x, (dims[0], product(dims[1 : axis + 2]), dims[axis + 2], product(dims[axis + 3 :])))
        x = _pool2d(n, op, x, [windows[axis], (POINT, False)])
        dims[axis + 2] = x.shape[2]
    return n.reshape(x, dims)


def _pool2d(n: NodeContext, op: str, x: Tensor, windows: Sequence[Rounded]) -> Tensor:
    kernel = tuple(w.length for w, _ in windows)
    attrs = planar([w for w, _ in windows])
    rounding = rounding_of(n, windows, x.shape[2:])
    return n.emit(op, x, window_dimensions=kernel, output_shape_rounding=rounding, **attrs)


def rounding_of(n: NodeContext, windows: Sequence[Rounded], sizes: Shape) -> str:
    """How a planar pooling operator must round both counts, floor or ceil."""
    if not any(up for _, up in windows):
        return "floor"
    if not all(up or _whole(w, size) for (w, up), size in zip(windows, sizes)):
        # One axis must be rounded up and the other down, which only known sizes can express.
        n.static(*sizes)
    return "ceil"


def _whole(window: Window, size: Dim) -> bool:
    """Whether the number of windows comes out the same either way."""
    room = size + window.begin + window.end - window.extent
    return window.stride == 1 or (isinstance(room, int) and room % window.stride == 0)


@onnx_op("AveragePool", 1, 7, 10, 11, 19, 22)
def average_pool(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    windows = pool_windows(n, spatial_sizes(n, x))
    dtype = x.dtype
    if len(windows) > 2:
        x = widened(n, x)
    if n.attr("count_include_pad", 0):
        x, windows = _with_padding(n, x, windows)
    return n.cast(pool(n, "average_pool2d", x, windows), dtype)


def _with_padding(n: NodeContext, x: Tensor, windows: Sequence[Rounded]) -> tuple[Tensor, list[Rounded]]:
    """The input with zeros as the attribute ``pads`` (or ``auto_pad``) says, so that they are elements like others.

    What ``ceil_mode`` adds at the end stays padding.
    """
    stated = windows_of(n, x.shape[2:], [w.length for w, _ in windows])
    before = [0, 0, *[w.begin for w in stated]]
    after = [0, 0, *[w.end for w in stated]]
    if any(before) or any(after):
        x = n.emit("pad", x, beginning_padding=before, ending_padding=after)
    left = [(replace(w, begin=0, end=w.end - s.end), up) for (w, up), s in zip(windows, stated)]
    return x, left


@onnx_op("LpPool", 1, 2, 11, 18, 22)
def lp_pool(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    dtype, p = x.dtype, n.attr("p")
    windows = pool_windows(n, spatial_sizes(n, x))
    if len(windows) > 2 or p != 2:
        x = widened(n, x)
    if p == 2:
        return n.cast(pool(n, "l2_pool2d", x, windows), dtype)
    if p <= 0:
        raise n.error(f"attribute p is {p}, expected a positive number")
    magnitudes = n.emit("abs", x)
    powers = magnitudes if p == 1 else n.emit("pow", magnitudes, n.scalar(p, x))
    total = _sums(n, powers, windows)
    return n.cast(total if p == 1 else n.emit("pow", total, n.scalar(1 / p, x)), dtype)


def _sums(n: NodeContext, x: Tensor, windows: Sequence[Rounded]) -> Tensor:
    """The sum of each window: the mean times the number of elements, zeros in place of the padding."""
    if any(up for _, up in windows):
        n.static(*x.shape[2:])
    before = [0, 0, *[w.begin for w, _ in windows]]
    after = [0, 0, *[w.end for w, _ in windows]]
    if any(before) or any(after):
        x = n.emit("pad", x, beginning_padding=before, ending_padding=after)
    mean = pool(n, "average_pool2d", x, [(replace(w, begin=0, end=0), False) for w, _ in windows])
    return n.emit("mul", mean, n.scalar(math.prod(w.length for w, _ in windows), x))
