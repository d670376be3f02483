"""Convolution in NumPy: matrix products over gathered windows, in float64."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .spatial import tap_ranges

_CHUNK = 1 << 22
"""Most elements of gathered windows held at a time (32 MiB in float64)."""


def convolve(image: np.ndarray, weights: np.ndarray, sizes: Sequence[int], a: Mapping[str, Any]) -> np.ndarray:
    """The convolution of ``image`` [n, c, h, w] with ``weights`` [o, c / groups, kh, kw], giving [n, o, *sizes]."""
    batches = image.shape[0]
    outputs, _, *window = weights.shape
    result = np.empty((batches, outputs, *sizes))
    height, width = sizes
    per_row = image.shape[1] * math.prod(window) * width
    rows = min(height, max(1, _CHUNK // max(1, per_row)))
    images = max(1, _CHUNK // max(1, per_row * rows)) if rows == height else 1
    matrix = weights.reshape(a["groups"], outputs // a["groups"], -1)
    for n in range(0, batches, images):
        for row in range(0, height, rows):
            count = min(rows, height - row)
            columns = _columns(image[n : n + images], window, (row, count, width), a)
            columns = columns.reshape(columns.shape[0], a["groups"], matrix.shape[2], count * width)
            result[n : n + images, :, row : row + count] = np.matmul(matrix, columns).reshape(-1, outputs, count, width)
    return result


def _columns(image: np.ndarray, window: Sequence[int], rows: tuple[int, int, int], a: Mapping[str, Any]) -> np.ndarray:
    """The windows of ``count`` output rows from ``row`` on: [n, c, kh, kw, count, width], zero where padding is met."""
    row, count, width = rows
    (top, _, left, _), strides, dilations = a["padding"], a["strides"], a["dilations"]
    batches, channels, *sizes = image.shape
    columns = np.zeros((batches, channels, *window, count, width))
    for i, (to_y, from_y) in tap_ranges(count, sizes[0], window[0], strides[0], dilations[0], top - row * strides[0]):
        for j, (to_x, from_x) in tap_ranges(width, sizes[1], window[1], strides[1], dilations[1], left):
            columns[:, :, i, j, to_y, to_x] = image[:, :, from_y, from_x]
    return columns


def convolve_transposed(
    image: np.ndarray, weights: np.ndarray, sizes: Sequence[int], a: Mapping[str, Any]
) -> np.ndarray:
    """The transposed convolution of ``image`` [n, c, h, w] with ``weights`` [c, o / groups, kh, kw].

    The result is [n, o, *sizes]: each input element adds the filter times itself, at its stride's position.
    """
    batches, channels, height, width = image.shape
    _, outputs, *window = weights.shape
    groups = a["groups"]
    (top, _, left, _), strides, dilations = a["padding"], a["strides"], a["dilations"]
    result = np.zeros((batches, groups, outputs, *sizes))
    grouped = image.reshape(batches, groups, channels // groups, height, width)
    matrices = weights.reshape(groups, channels // groups, outputs, *window).swapaxes(1, 2)
    for i, (from_y, to_y) in tap_ranges(height, sizes[0], window[0], strides[0], dilations[0], top):
        for j, (from_x, to_x) in tap_ranges(width, sizes[1], window[1], strides[1], dilations[1], left):
            part = grouped[..., from_y, from_x]
            flat = np.matmul(matrices[..., i, j], part.reshape(*part.shape[:3], math.prod(part.shape[3:])))
            result[..., to_y, to_x] += flat.reshape(*flat.shape[:3], *part.shape[3:])
    return result.reshape(batches, groups * outputs, *sizes)
