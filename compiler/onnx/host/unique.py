"""Unique: the distinct elements or slices of a tensor."""

from __future__ import annotations

import math

import numpy as np

from basalt.compiler.onnx.host.checks import axis_of, tensor
from basalt.compiler.onnx.host.element_types import sortable
from basalt.compiler.onnx.host.registry import HostNode, host_op


def _dense_ranks(x: np.ndarray) -> np.ndarray:
    """For each element of the vector ``x``, its place among the sorted distinct values (NaNs are equal)."""
    x = sortable(x)
    return np.unique(x, return_inverse=True)[1].reshape(-1)


def _slice_ranks(x: np.ndarray, axis: int) -> np.ndarray:
    """The same for the slices along ``axis``, compared element by element in row-major order."""
    rows = np.moveaxis(x, axis, 0)
    ranks = _dense_ranks(rows.reshape(-1)).reshape(len(rows), math.prod(rows.shape[1:]))
    order = np.lexsort(ranks.T[::-1]) if ranks.shape[1] else np.arange(len(ranks))
    changes = (ranks[order[1:]] != ranks[order[:-1]]).any(axis=1)
    result = np.zeros(len(ranks), dtype=np.int64)
    result[order[1:]] = np.cumsum(changes)
    return result


@host_op("Unique", 11, 28)
def unique(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Distinct values (or slices along ``axis``), index of their first occurrence, inverse indices, counts.

    In ascending order with ``sorted`` (strings by code point, NaN last), else by first occurrence. Zeros of both signs
    are equal, and so are all NaNs; the first occurrence stands for them.
    """
    x = tensor(n, "X", x)
    axis = n.attr("axis")
    flat, axis = (x.reshape(-1), 0) if axis is None else (x, axis_of(n, axis, x.ndim))
    ranks = _dense_ranks(flat) if flat.ndim == 1 else _slice_ranks(flat, axis)
    _, first, inverse, counts = np.unique(ranks, return_index=True, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    if not n.attr("sorted", 1):
        order = np.argsort(first)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        first, counts, inverse = first[order], counts[order], places[inverse]
    values = np.take(flat, first, axis=axis)
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)
