"""Pooling: where ONNX rounds up in its own way, or ONNX Runtime refuses padding as wide as the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import Dim, known
from basalt.ops.dims import dim_max
from basalt.ops.spatial import pick, tap_ranges
from basalt.ops.types import is_float

from ..node import NodeWriter, lowest
from ..registry import exports
from ..tensor import Tensor
from .convolution import pads_of


@exports("average_pool2d", "l2_pool2d", "max_pool2d")
def pool(n: NodeWriter) -> Tensor:
    layout = n.attrs["layout"]
    image = n.arrange(n["input"], layout, "nchw")
    sizes = pick(n.type("input").shape, layout, "hw")
    window = n.attrs["window_dimensions"] or sizes
    if tuple(window) == tuple(sizes) and n.attrs["padding"] == (0, 0, 0, 0) and n.attrs["dilations"] == (1, 1):
        result = _global(n, image)
    elif not known(*window):
        n.unsupported("a window of the input's unknown size, with padding or dilations")
    else:
        result = _POOLS[n.node.op](n, image, Window(n, sizes, layout))
    return n.arrange(n.cast(result, n["input"].dtype), "nchw", layout)


def _global(n: NodeWriter, image: Tensor) -> Tensor:
    """One window of the whole input."""
    if n.node.op == "l2_pool2d":
        return n.reduce("ReduceL2", image, (2, 3), keep=True)
    op_type = "GlobalAveragePool" if n.node.op == "average_pool2d" else "GlobalMaxPool"
    if n.runs(op_type, image.dtype) or image.dtype == "bfloat16":
        return n.call(op_type, image)
    if image.dtype == "uint64":
        return _taps(n, image, Window(n, pick(n.type("input").shape, n.attrs["layout"], "hw"), n.attrs["layout"]))
    return n.reduce("ReduceMean" if n.node.op == "average_pool2d" else "ReduceMax", image, (2, 3), keep=True)


class Window:
    """The window of a pool, with padding such that rounding down gives the output's sizes.

    ``layout`` is that of the node's input and output. ONNX's ceil_mode is not used: it leaves out windows that begin
    behind the input, which the core does not.
    """

    def __init__(self, n: NodeWriter, sizes: Sequence[Dim], layout: str) -> None:
        self.sizes = tuple(sizes)
        self.kernel = tuple(n.attrs["window_dimensions"] or sizes)
        self.strides, self.dilations = n.attrs["strides"], n.attrs["dilations"]
        self.is_dilated = tuple(self.dilations) != (1, 1)
        self.counts = pick(n.out[0].shape, layout, "hw")
        top, bottom, left, right = n.attrs["padding"]
        self.padding: tuple[Dim, ...] = (top, self._end(0, top, bottom), left, self._end(1, left, right))

    def _end(self, i: int, begin: int, end: int) -> Dim:
        extent = (self.kernel[i] - 1) * self.dilations[i] + 1
        if self.counts[i] == (self.sizes[i] - extent + begin + end) // self.strides[i] + 1:
            return end
        return dim_max(end, (self.counts[i] - 1) * self.strides[i] + extent - self.sizes[i] - begin)

    @property
    def is_plain(self) -> bool:
        """Whether ONNX Runtime takes the padding, and every window holds an element."""
        return all(self._is_plain_along(i) for i in (0, 1))

    def _is_plain_along(self, i: int) -> bool:
        begin, end = self.padding[2 * i : 2 * i + 2]
        if not isinstance(end, int) or max(begin, end) >= self.kernel[i]:  # type: ignore[type-var]
            return False
        count, size = self.counts[i], self.sizes[i]
        if not (isinstance(count, int) and isinstance(size, int)):
            return True
        met = np.zeros(count, bool)
        for _, (to, _) in tap_ranges(count, size, self.kernel[i], self.strides[i], self.dilations[i], int(begin)):  # type: ignore[arg-type]
            met[to] = True
        return bool(met.all())

    def options(self, *, padded: bool) -> dict[str, Any]:
        """ONNX's attributes; ``padded`` for padding by the operator itself."""
        return {
            "kernel_shape": self.kernel,
            "strides": self.strides,
            "dilations": self.dilations if self.is_dilated else None,
            "pads": pads_of(self.padding) if padded else None,
        }

    def padded(self, n: NodeWriter, image: Tensor, value: float) -> Tensor:
        """The image with its padding as elements."""
        if self.padding == (0, 0, 0, 0):
            return image
        top, bottom, left, right = self.padding
        return n.call("Pad", image, n.sizes((0, 0, top, left, 0, 0, bottom, right)), n.scalar(value, image.dtype))


def _max(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    if not n.runs("MaxPool", image.dtype) and not is_float(image.dtype):
        if image.dtype in ("int64", "uint64"):
            return _taps(n, image, window)
        # float64 holds every integer of 32 bits.
        image = n.cast(image, "float64")
    if window.is_plain:
        return n.call("MaxPool", image, **window.options(padded=True))
    return n.call("MaxPool", window.padded(n, image, lowest(n["input"].dtype)), **window.options(padded=False))


def _taps(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    """The maximum of one slice of the image for each element of the window, where no float holds the elements."""
    if not known(*window.kernel):
        n.unsupported(f"a maximum of {image.dtype} over a window whose sizes are not known")
    padded = window.padded(n, image, lowest(image.dtype))
    result: Tensor | None = None
    for row, column in np.ndindex(*window.kernel):
        starts = [row * window.dilations[0], column * window.dilations[1]]
        ends = [s + (c - 1) * stride + 1 for s, c, stride in zip(starts, window.counts, window.strides)]
        part = n.call("Slice", padded, n.ints(starts), n.sizes(ends), n.ints((2, 3)), n.ints(window.strides))
        result = part if result is None else n.call("Max", result, part)
    assert result is not None
    return result


def _average(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    if window.is_plain and (not window.is_dilated or n.opset >= 19):
        return n.call("AveragePool", image, count_include_pad=0, **window.options(padded=True))
    image = n.widened(image)
    ones = n.filled(1.0, image.dtype, (1, 1, *window.sizes))
    return n.call("Div", _sums(n, image, window, n.type("input").shape), _sums(n, ones, window, None))


def _l2(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    if window.is_plain and not window.is_dilated:
        return n.call("LpPool", image, p=2, **window.options(padded=True))
    image = n.widened(image)
    return n.call("Sqrt", _sums(n, n.call("Mul", image, image), window, n.type("input").shape))


def _sums(n: NodeWriter, image: Tensor, window: Window, shape: Sequence[Dim] | None) -> Tensor:
    """The sum of each window, as a convolution with ones of each channel; ``shape`` None for one channel."""
    ones = n.constant(np.ones((1, 1, *window.kernel), image.dtype))
    by_itself = known(*window.padding)
    if shape is not None:
        batches, channels = pick(shape, n.attrs["layout"], "nc")
        image = n.reshape(image, (batches * channels, 1, *window.sizes))
    padded = image if by_itself else window.padded(n, image, 0.0)
    sums = n.call("Conv", padded, ones, **window.options(padded=by_itself))
    return sums if shape is None else n.reshape(sums, (batches, channels, *window.counts))


_POOLS = {"average_pool2d": _average, "l2_pool2d": _l2, "max_pool2d": _max}
