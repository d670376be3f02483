"""Where resized elements lie in the original, and how much each of its elements counts there (ONNX operator Resize).

Everything is computed in float64, axis by axis: interpolation is separable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

NEAREST_MODES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True)
class Method:
    """How values are interpolated.

    Attributes:
        mode: nearest, linear or cubic.
        coordinates: ONNX's ``coordinate_transformation_mode``.
        nearest: ONNX's ``nearest_mode``.
        antialias: whether the filter is stretched where the result is smaller.
        exclude_outside: whether elements beyond the edge count nothing, rather than as the edge.
        cubic_a: the coefficient of the cubic filter, -0.5 or -0.75 mostly.
        extrapolation: the value beyond the original, for tf_crop_and_resize.
    """

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    antialias: bool = False
    exclude_outside: bool = False
    cubic_a: float = -0.75
    extrapolation: float = 0.0


def original_coordinates(mode: str, size: int, count: int, scale: float, roi: tuple[float, float]) -> np.ndarray:
    """The coordinate in the original of each of ``count`` results, float64[count].

    Args:
        mode: ONNX's ``coordinate_transformation_mode``.
        size: the original's size.
        count: the result's, ``size * scale`` rounded down where a scale is given.
        scale: the factor.
        roi: start and end of the region of interest, as parts of the original; for tf_crop_and_resize.
    """
    place = np.arange(count, dtype=np.float64)
    exact = scale * size
    if mode == "align_corners":
        return np.zeros(count) if exact == 1 else place * (size - 1) / (exact - 1)
    if mode == "asymmetric":
        return place / scale
    if mode == "tf_half_pixel_for_nn":
        return (place + 0.5) / scale
    if mode == "tf_crop_and_resize":
        start, end = roi
        span = (end - start) * (size - 1)
        within = np.full(count, span / 2) if exact == 1 else place * (end - start) * (size - 1) / (exact - 1)
        return within + start * (size - 1)
    if mode == "pytorch_half_pixel" and exact == 1:
        return np.full(count, -0.5)
    coordinate = (place + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        # The centre of the result is that of the original, also where its exact size is no whole number.
        coordinate += size / 2 * (1 - count / exact)
    return coordinate


def nearest_elements(coordinate: np.ndarray, mode: str, size: int) -> np.ndarray:
    """The element nearest to each coordinate, int64."""
    if mode == "floor":
        place = np.floor(coordinate)
    elif mode == "ceil":
        place = np.ceil(coordinate)
    elif mode == "round_prefer_ceil":
        place = np.floor(coordinate + 0.5)
    else:
        place = np.ceil(coordinate - 0.5)
    return np.clip(place, 0, size - 1).astype(np.int64)


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel (Cubic convolution interpolation for digital image processing, 1981, equation 4)."""
    t = np.abs(distance)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def weighted_elements(coordinate: np.ndarray, method: Method, size: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """The elements that count at each coordinate, int64[count, n], and their weights, float64[count, n]."""
    stretch = min(scale, 1.0) if method.antialias else 1.0
    support = 1 if method.mode == "linear" else 2
    reach = math.ceil(support / stretch)
    place = np.floor(coordinate)[:, None] + np.arange(1 - reach, reach + 1)
    distance = (place - coordinate[:, None]) * stretch
    weights = _linear(distance) if method.mode == "linear" else _cubic(distance, method.cubic_a)
    if method.exclude_outside:
        weights = np.where((place < 0) | (place > size - 1), 0.0, weights)
    if method.antialias or method.exclude_outside:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return _without_idle(np.clip(place, 0, size - 1).astype(np.int64), weights)


def _without_idle(places: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights that are 0 moved to the end of each row, and what then is idle in all rows left out."""
    order = np.argsort(weights == 0, axis=1, kind="stable")
    places, weights = np.take_along_axis(places, order, 1), np.take_along_axis(weights, order, 1)
    used = max(int((weights != 0).sum(axis=1).max(initial=0)), 1)
    return places[:, :used], weights[:, :used]
