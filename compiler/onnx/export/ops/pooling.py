"""Pooling: ONNX Runtime refuses padding as wide as the window, and rounds up in its own way, so both become padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import Dim, known
from basalt.ops.spatial import pick, tap_ranges, window_counts
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
    """The window of a pool, with padding such that rounding down gives the output's sizes."""

    def __init__(self, n: NodeWriter, sizes: Sequence[Dim], layout: str) -> None:
        self.sizes = tuple(sizes)
        self.kernel = tuple(n.attrs["window_dimensions"] or sizes)
        self.strides, self.dilations = n.attrs["strides"], n.attrs["dilations"]
        self.counts = pick(n.out[0].shape, layout, "hw")
        self.extents = tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations))
        self.padding, self.ceil = tuple(n.attrs["padding"]), False
        if known(*self.sizes, *self.counts):
            ends = [self._end(i) for i in (0, 1)]
            self.padding = (self.padding[0], ends[0], self.padding[2], ends[1])
        else:
            self.ceil = self.counts != window_counts(self.sizes, self.kernel, n.attrs)

    def _end(self, i: int) -> int:
        begin, end = self.padding[2 * i : 2 * i + 2]
        needed = (self.counts[i] - 1) * self.strides[i] + self.extents[i] - self.sizes[i] - begin  # type: ignore[operator]
        return max(end, int(needed))  # type: ignore[arg-type]

    @property
    def is_plain(self) -> bool:
        """Whether ONNX Runtime takes the padding, and every window holds an element."""
        for i in (0, 1):
            pair = self.padding[2 * i : 2 * i + 2]
            if any(p >= self.kernel[i] for p in pair):
                return False
            if known(self.sizes[i], self.counts[i]) and not self._all_meet(i):
                return False
        return True

    def _all_meet(self, i: int) -> bool:
        count = int(self.counts[i])  # type: ignore[arg-type]
        met = np.zeros(count, bool)
        for _, (to, _) in tap_ranges(
            count,
            int(self.sizes[i]),
            self.kernel[i],
            self.strides[i],
            self.dilations[i],
            self.padding[2 * i],  # type: ignore[arg-type]
        ):
            met[to] = True
        return bool(met.all())

    def options(self, *, padded: bool, dilated: bool = True) -> dict[str, Any]:
        """ONNX's attributes."""
        return {
            "kernel_shape": self.kernel,
            "strides": self.strides,
            "dilations": self.dilations if dilated and tuple(self.dilations) != (1, 1) else None,
            "pads": pads_of(self.padding) if padded else None,
            "ceil_mode": 1 if self.ceil else None,
        }

    def padded(self, n: NodeWriter, image: Tensor, value: float) -> Tensor:
        """The image with its padding as elements."""
        top, bottom, left, right = self.padding
        return n.call("Pad", image, n.ints((0, 0, top, left, 0, 0, bottom, right)), n.scalar(value, image.dtype))


def _max(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    if not n.runs("MaxPool", image.dtype) and not is_float(image.dtype):
        if image.dtype in ("int64", "uint64"):
            return _taps(n, image, window)
        # float64 holds every integer of 32 bits.
        image = n.cast(image, "float64")
    if not window.is_plain:
        value = lowest(n["input"].dtype)
        return n.call("MaxPool", window.padded(n, image, value), **window.options(padded=False))
    return n.call("MaxPool", image, **window.options(padded=True))


def _taps(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    """The maximum of one slice of the image for each element of the window, where no float holds the elements."""
    if window.ceil or not known(*window.kernel):
        n.unsupported(f"a maximum of {image.dtype} over windows of sizes that are not known")
    padded = window.padded(n, image, lowest(image.dtype)) if any(window.padding) else image
    result: Tensor | None = None
    for row in range(window.kernel[0]):
        for column in range(window.kernel[1]):
            starts = [row * window.dilations[0], column * window.dilations[1]]
            ends = [s + (c - 1) * stride + 1 for s, c, stride in zip(starts, window.counts, window.strides)]
            part = n.call("Slice", padded, n.ints(starts), n.sizes(ends), n.ints((2, 3)), n.ints(window.strides))
            result = part if result is None else n.call("Max", result, part)
    assert result is not None
    return result


def _average(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    dilated = tuple(window.dilations) != (1, 1)
    if window.is_plain and (not dilated or n.opset >= 19):
        return n.call("AveragePool", image, count_include_pad=0, **window.options(padded=True))
    image = n.widened(image)
    ones = n.filled(1.0, image.dtype, (1, 1, *window.sizes))
    return n.call("Div", _sums(n, image, window, n.type("input").shape), _sums(n, ones, window, None))


def _l2(n: NodeWriter, image: Tensor, window: Window) -> Tensor:
    dilated = tuple(window.dilations) != (1, 1)
    if window.is_plain and not window.ceil and not dilated:
        return n.call("LpPool", image, p=2, **window.options(padded=True))
    image = n.widened(image)
    return n.call("Sqrt", _sums(n, n.call("Mul", image, image), window, n.type("input").shape))


def _sums(n: NodeWriter, image: Tensor, window: Window, shape: Sequence[Dim] | None) -> Tensor:
    """The sum of each window, as a convolution with ones of each channel; ``shape`` None for one channel."""
    if window.ceil:
        n.unsupported("windows that are dilated, or beside the input, with sizes rounded up that are not known")
    ones = n.constant(np.ones((1, 1, *window.kernel), image.dtype))  # type: ignore[arg-type]
    options = window.options(padded=True) | {"dilations": window.dilations, "ceil_mode": None}
    if shape is None:
        return n.call("Conv", image, ones, **options)
    batches, channels = pick(shape, n.attrs["layout"], "nc")
    flat = n.call("Conv", n.reshape(image, (batches * channels, 1, *window.sizes)), ones, **options)
    return n.reshape(flat, (batches, channels, *window.counts))


_POOLS = {"average_pool2d": _average, "l2_pool2d": _l2, "max_pool2d": _max}
