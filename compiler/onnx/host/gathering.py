"""Gather, GatherElements and GatherND, for element types that are not compiled: strings, complex numbers."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import axis_of, checked_indices, tensor
from basalt.compiler.onnx.host.element_types import type_name
from basalt.compiler.onnx.host.registry import HostNode, host_op


@host_op("Gather", 1, 11, 13)
def gather(n: HostNode, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The slices of ``x`` along ``axis`` at ``indices``, whose shape takes the place of the axis."""
    x, indices = tensor(n, "data", x), tensor(n, "indices", indices)
    axis = axis_of(n, int(n.attr("axis", 0)), x.ndim)
    return np.take(x, checked_indices(n, "indices", indices, x.shape[axis]), axis=axis)


@host_op("GatherElements", 11, 13)
def gather_elements(n: HostNode, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """For each place of ``indices``, the element of ``x`` there, but on ``axis`` at the index."""
    x, indices = tensor(n, "data", x), tensor(n, "indices", indices)
    axis = axis_of(n, int(n.attr("axis", 0)), x.ndim)
    small = indices.ndim == x.ndim and all(
        i <= s for a, (i, s) in enumerate(zip(indices.shape, x.shape, strict=True)) if a != axis
    )
    if not small:
        raise n.error(f"input 'indices' has shape {indices.shape}, expected at most {x.shape} but for axis {axis}")
    places: list[np.ndarray] = list(np.indices(indices.shape, sparse=True))
    places[axis] = checked_indices(n, "indices", indices, x.shape[axis])
    return x[tuple(places)]


@host_op("GatherND", 11, 12, 13)
def gather_nd(n: HostNode, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The elements or slices of ``x`` at the index vectors that the last axis of ``indices`` holds.

    From 12 the first ``batch_dims`` axes are common to both.
    """
    x, indices = tensor(n, "data", x), tensor(n, "indices", indices)
    batch = int(n.attr("batch_dims", 0))
    if not 0 <= batch < min(x.ndim, indices.ndim) or x.shape[:batch] != indices.shape[:batch]:
        raise n.error(
            f"attribute 'batch_dims' is {batch}, expected common leading axes of shapes {x.shape}, {indices.shape}"
        )
    depth = indices.shape[-1]
    if not 1 <= depth <= x.ndim - batch:
        raise n.error(f"input 'indices' has shape {indices.shape}, expected a last axis of 1 to {x.ndim - batch}")
    if indices.dtype.kind not in "iu":
        raise n.error(f"input 'indices' is of type {type_name(indices.dtype)}, expected integers")
    tail = indices.shape[batch:-1]
    lead = [
        np.arange(s).reshape([-1 if a == i else 1 for a in range(batch + len(tail))])
        for i, s in enumerate(x.shape[:batch])
    ]
    parts = [checked_indices(n, "indices", indices[..., d], x.shape[batch + d]) for d in range(depth)]
    return x[(*lead, *parts)]
