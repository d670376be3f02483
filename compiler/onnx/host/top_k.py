"""TopK: the largest or smallest elements along an axis."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import axis_of, integer, real_tensor
from basalt.compiler.onnx.host.element_types import sortable
from basalt.compiler.onnx.host.registry import HostNode, host_op


def _top_k(n: HostNode, x: np.ndarray, k: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Sorted by value, equal values by index; NaN counts as larger than every number."""
    axis = axis_of(n, n.attr("axis", -1), x.ndim)
    size = x.shape[axis]
    if not 0 <= k <= size:
        raise n.error(f"k is {k}, expected 0 to {size}, the size of axis {axis} of shape {x.shape}")
    keys = sortable(x)
    if largest:
        # Sorting the reversed axis upwards and reading it from the back keeps equal values in order of their indices.
        keys = np.flip(keys, axis)
    order = np.argsort(keys, axis=axis, kind="stable")
    if largest:
        order = size - 1 - np.flip(order, axis)
    indices = np.take(order, np.arange(k), axis=axis).astype(np.int64)
    return np.take_along_axis(x, indices, axis), indices


@host_op("TopK", 1)
def top_k_1(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` (attribute) largest elements along ``axis`` and their int64 indices."""
    return _top_k(n, real_tensor(n, "X", x), int(n.required("k")), largest=True)


@host_op("TopK", 10, 11, 24)
def top_k(n: HostNode, x: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ``K`` (input) largest, from 11 with ``largest=0`` the smallest, elements along ``axis`` and their indices.

    Without ``sorted`` the order is free; here it is the sorted one.
    """
    return _top_k(n, real_tensor(n, "X", x), integer(n, "K", k), largest=bool(n.attr("largest", 1)))
