"""Sampling an image at the places that a grid names."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..convert import boolean, enum
from ..registry import register_extension
from ..rounding import narrow, widen
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_shape, same_dim
from ..types import FLOATS, TensorType

FAR = float(2**30)
"""Coordinates are moved into this distance of 0; NaN counts as far outside."""
CUBIC = -0.75
"""The free parameter of cubic convolution (Keys, "Cubic convolution interpolation for digital image processing")."""


@register_extension
class GridSample(Operator):
    """The input [n, c, h, w] or [n, c, d, h, w] sampled where a grid [n, ..., 2 or 3] says, giving [n, c, ...].

    A grid's last dimension holds coordinates, the innermost dimension's (x) first, from -1 to 1: the centres of the
    first and last element with ``align_corners``, else their outer edges. ``mode`` takes the nearest element (halves to
    the even one), or interpolates linearly or by cubic convolution (4-D only). Outside, elements are 0, those of the
    border, or the image is reflected at its edges. Coordinates are computed in float32, for float64 grids in float64.
    """

    name = "grid_sample"
    operands = (
        Operand("input", FLOATS, (4, 5), doc="the image, [n, c, h, w] or [n, c, d, h, w]"),
        Operand("grid", FLOATS, "input", doc="the places, [n, oh, ow, 2] or [n, od, oh, ow, 3]"),
    )
    options = (
        Option("mode", enum("linear", "nearest", "cubic"), "linear", "how elements between places are found"),
        Option("padding_mode", enum("zeros", "border", "reflection"), "zeros", "what lies outside"),
        Option("align_corners", boolean, False, "whether -1 and 1 are the centres of the outermost elements"),
    )
    outputs = (Output(rank="input"),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        batches, channels, *sizes = t.input.shape
        lead, *places, coordinates = t.grid.shape
        if not same_dim(batches, lead):
            fail(f"the grid has {lead} batches, expected the input's, {batches}")
        if not same_dim(coordinates, len(sizes)):
            fail(f"the grid's last dimension is {coordinates}, expected {len(sizes)}: a coordinate's length")
        if a["mode"] == "cubic" and len(sizes) != 2:
            fail("mode is cubic, expected linear or nearest for an input of rank 5")
        if 0 in sizes:
            fail("the input is empty, so that no place is in it")
        return [TensorType(t.input.dtype, check_shape((batches, channels, *places), zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        image, grid = widen(x.input), np.asarray(x.grid)
        sizes = image.shape[2:]
        places = grid.astype(np.float64 if grid.dtype == np.float64 else np.float32)
        axes = [_taps(places[..., -1 - i], size, a) for i, size in enumerate(sizes)]
        batch = np.arange(image.shape[0]).reshape(-1, *[1] * len(sizes))
        channels_last = np.moveaxis(image, 1, -1)
        result = np.zeros((*places.shape[:-1], image.shape[1]))
        with np.errstate(all="ignore"):
            for taps in itertools.product(*axes):
                inside = np.logical_and.reduce([index >= 0 for index, _ in taps])
                weight = np.multiply.reduce([w for _, w in taps])
                found = channels_last[(batch, *(np.maximum(index, 0) for index, _ in taps))]
                result += np.where(inside[..., None], found * weight[..., None], 0.0)
        return [narrow(np.moveaxis(result, -1, 1), out[0])]


def moves_inside(a: Mapping[str, Any]) -> bool:
    """Whether a place outside is moved before its elements are looked up, which are then moved each by itself.

    Cubic interpolation at a border takes the elements of the place as it was: ONNX does not say, PyTorch and ONNX
    Runtime agree on it.
    """
    return a["padding_mode"] == "reflection" or (a["padding_mode"] == "border" and a["mode"] != "cubic")


Tap = tuple[np.ndarray, np.ndarray]
"""Which elements along an axis, -1 for one outside that is 0, and their weights in float64."""


def _taps(place: np.ndarray, size: int, a: Attrs) -> list[Tap]:
    """The elements along one axis that make a sample."""
    align, padding = a["align_corners"], a["padding_mode"]
    with np.errstate(all="ignore"):
        x = (place + 1) / 2 * (size - 1) if align else ((place + 1) * size - 1) / 2
        x = np.clip(np.where(np.isnan(x), -FAR, x), -FAR, FAR).astype(place.dtype)
        if a["mode"] == "nearest":
            x = np.rint(x)
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        outside = ((x < low) | (x > high)) & moves_inside(a)
        if padding == "border":
            x = np.where(outside, np.clip(x, 0, size - 1), x).astype(place.dtype)
        elif padding == "reflection":
            x = np.where(outside, _reflected(x, low, high), x).astype(place.dtype)
    if a["mode"] == "nearest":
        return [(_resolved(x.astype(np.int64), size, a), np.ones(x.shape))]
    first = np.floor(x)
    t = (x - first).astype(np.float64)
    index = first.astype(np.int64)
    if a["mode"] == "linear":
        return [(_resolved(index, size, a), 1 - t), (_resolved(index + 1, size, a), t)]
    return [(_resolved(index + i - 1, size, a), w) for i, w in enumerate(_cubic(t))]


def _reflected(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Coordinates reflected at both ends until they are inside."""
    span = high - low
    if span <= 0:
        return np.full_like(x, low)
    away = np.where(x < low, low - x, x - high)
    times = np.trunc(away / span)
    rest = away - times * span
    forth = (x < low) == (times % 2 == 0)
    return np.where(forth, low + rest, high - rest)


def _cubic(t: np.ndarray) -> list[np.ndarray]:
    def near(u: np.ndarray) -> np.ndarray:
        return ((CUBIC + 2) * u - (CUBIC + 3)) * u * u + 1

    def far(u: np.ndarray) -> np.ndarray:
        return ((CUBIC * u - 5 * CUBIC) * u + 8 * CUBIC) * u - 4 * CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _resolved(index: np.ndarray, size: int, a: Attrs) -> np.ndarray:
    """Indices of elements, those outside as the padding says."""
    if a["padding_mode"] == "zeros":
        return np.where((index >= 0) & (index < size), index, -1)
    if a["padding_mode"] == "border":
        return np.clip(index, 0, size - 1)
    period = max(1, 2 * (size - 1)) if a["align_corners"] else 2 * size
    turned = index % period
    last = period if a["align_corners"] else period - 1
    return np.where(turned < size, turned, last - turned)
