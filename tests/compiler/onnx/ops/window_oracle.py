"""Convolutions and pooling in float64, tap by tap, along any number of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

__all__ = ["convolve", "convolve_transposed", "windows"]

Ints = Sequence[int]


def _each_tap(kernel: Ints, strides: Ints, dilations: Ints, counts: Ints) -> Iterator[tuple[Any, Any]]:
    """Each tap of a window, and the elements of the padded input that it meets."""
    for tap in product(*map(range, kernel)):
        spans = zip(tap, strides, dilations, counts)
        yield tap, tuple(slice(t * d, t * d + (c - 1) * s + 1, s) for t, s, d, c in spans)


def _padded(x: np.ndarray, pads: Ints, fill: float = 0) -> np.ndarray:
    rank = x.ndim - 2
    return np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:])], constant_values=fill)


def convolve(
    x: np.ndarray, w: np.ndarray, strides: Ints, pads: Ints, dilations: Ints, group: int = 1, fill: float = 0
) -> np.ndarray:
    """The convolution of [n, c, ...] with [o, c / group, ...]."""
    data = _padded(x.astype(np.float64), pads, fill)
    weights = w.astype(np.float64).reshape(group, -1, *w.shape[1:])
    counts = [(d - (k - 1) * e - 1) // s + 1 for d, k, s, e in zip(data.shape[2:], w.shape[2:], strides, dilations)]
    split = data.reshape(data.shape[0], group, -1, *data.shape[2:])
    total: Any = 0
    for tap, places in _each_tap(w.shape[2:], strides, dilations, counts):
        total = total + np.einsum("ngc...,goc->ngo...", split[(..., *places)], weights[(..., *tap)])
    return np.asarray(total).reshape(data.shape[0], w.shape[0], *counts)


def convolve_transposed(
    x: np.ndarray, w: np.ndarray, strides: Ints, dilations: Ints, begins: Ints, sizes: Ints, group: int = 1
) -> np.ndarray:
    """The transposed convolution of [n, c, ...] with [c, o / group, ...], ``sizes`` places from ``begins`` on."""
    kernel = w.shape[2:]
    reach = [(d - 1) * s + (k - 1) * e + 1 for d, s, k, e in zip(x.shape[2:], strides, kernel, dilations)]
    room = [max(r, b + z) for r, b, z in zip(reach, begins, sizes)]
    split = x.astype(np.float64).reshape(x.shape[0], group, -1, *x.shape[2:])
    weights = w.astype(np.float64).reshape(group, -1, *w.shape[1:])
    total = np.zeros((x.shape[0], group, w.shape[1], *room))
    for tap, places in _each_tap(kernel, strides, dilations, x.shape[2:]):
        total[(..., *places)] += np.einsum("ngc...,gco->ngo...", split, weights[(..., *tap)])
    kept = total[(..., *[slice(b, b + z) for b, z in zip(begins, sizes)])]
    return kept.reshape(x.shape[0], -1, *sizes)


def windows(
    x: np.ndarray,
    kernel: Ints,
    strides: Ints,
    begins: Ints,
    counts: Ints,
    dilations: Ints,
    reduce: Callable[[np.ndarray, np.ndarray], Any],
    limits: Ints,
) -> np.ndarray:
    """``reduce(elements, positions)`` of each window of [n, c, ...].

    ``elements`` are those that lie in the padded input of ``limits`` places (0 in the padding), ``positions`` their
    flat indices in the image, -1 for padding.
    """
    sizes = x.shape[2:]
    result = np.empty((*x.shape[:2], *counts), np.float64)
    for n, c in np.ndindex(*x.shape[:2]):
        for place in np.ndindex(*counts):
            values, where = [], []
            for tap in np.ndindex(*kernel):
                padded = [p * s + t * d for p, s, t, d in zip(place, strides, tap, dilations)]
                if any(q >= limit for q, limit in zip(padded, limits)):
                    continue
                at = [q - b for q, b in zip(padded, begins)]
                inside = all(0 <= a < size for a, size in zip(at, sizes))
                values.append(float(x[(n, c, *at)]) if inside else 0.0)
                where.append(int(np.ravel_multi_index(at, sizes)) if inside else -1)
            result[(n, c, *place)] = reduce(np.array(values), np.array(where))
    return result
