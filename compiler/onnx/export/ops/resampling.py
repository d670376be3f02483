"""Resampling: ONNX's Resize of half_pixel coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import Dim, known
from basalt.ops.resample import nearest_positions, neighbours
from basalt.ops.types import is_float

from ..node import HALVES, NodeWriter
from ..registry import exports
from ..tensor import Tensor
from .interpolation import blend


@exports("resample2d")
def resample2d(n: NodeWriter) -> Tensor:
    """Images stand in the last two axes for Resize: ONNX Runtime interpolates along no others."""
    axes = sorted(n.attrs["axes"])
    order = [i for i in range(4) if i not in axes] + axes
    given, wanted = ([shape[i] for i in order] for shape in (n.type("input").shape, n.out[0].shape))
    image = n.transpose(n["input"], order)
    if n.attrs["mode"] == "linear":
        result = _linear(n, image, given, wanted)
    else:
        result = _nearest(n, image, given, wanted)
    return n.transpose(result, [order.index(i) for i in range(4)])


def _linear(n: NodeWriter, image: Tensor, given: Sequence[Dim], sizes: Sequence[Dim]) -> Tensor:
    """In float64 as the core has it where rounding would show in integers, or where Resize lacks the type."""
    if image.dtype in HALVES or image.dtype == "float32":
        return _resize(n, image, sizes, mode="linear")
    if known(*given[2:], *sizes[2:]):
        result = n.cast(image, "float64")
        # The core's order: a tie of integers may depend on it.
        for axis in (2, 3) if n.attrs["axes"][0] < n.attrs["axes"][1] else (3, 2):
            result = _interpolated(n, result, axis, int(given[axis]), int(sizes[axis]))  # type: ignore[arg-type]
    else:
        result = _resize(n, n.cast(image, "float32"), sizes, mode="linear")
    return result if is_float(image.dtype) else n.cast(n.call("Round", result), image.dtype)


def _interpolated(n: NodeWriter, image: Tensor, axis: int, size: int, count: int) -> Tensor:
    below, above, weight = neighbours(size, count)
    return blend(n, image, axis, n.ints(below.tolist()), n.ints(above.tolist()), n.constant(weight))


def _nearest(n: NodeWriter, image: Tensor, given: Sequence[Dim], sizes: Sequence[Dim]) -> Tensor:
    """As Resize where float32 coordinates find the same elements as exact ones do; else by their positions."""
    if not known(*given[2:], *sizes[2:]):
        return _resize(n, image, sizes, mode="nearest", nearest_mode="round_prefer_floor")
    pairs = [(int(size), int(count)) for size, count in zip(given[2:], sizes[2:])]  # type: ignore[arg-type]
    if image.dtype != "float64" and all(_agrees(*pair) for pair in pairs):
        return _resize(n, image, sizes, mode="nearest", nearest_mode="round_prefer_floor")
    for axis, pair in enumerate(pairs, 2):
        image = n.call("Gather", image, n.ints(nearest_positions(*pair).tolist()), axis=axis)
    return image


def _agrees(size: int, count: int) -> bool:
    scale = np.float32(count) / np.float32(size)
    half = np.float32(0.5)
    coordinate = (np.arange(count, dtype=np.float32) + half) / scale - half
    found = np.clip(np.ceil(coordinate - half), 0, size - 1)
    return bool(np.array_equal(found, nearest_positions(size, count)))


def _resize(n: NodeWriter, image: Tensor, sizes: Sequence[Dim], **options: Any) -> Tensor:
    options["coordinate_transformation_mode"] = "half_pixel"
    return n.call("Resize", image, None, None, n.sizes(sizes), **options)
