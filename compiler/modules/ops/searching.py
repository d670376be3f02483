"""Medians, distances and places among boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten
from .reduction import vector_norm


@aten("median.dim")
def median(n: AtenContext, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, ...]:
    """The lower of the two middle elements where their number is even."""
    axis = n.dim(dim, x.rank)
    (size,) = n.static(x.shape[axis])
    middle = (size - 1) // 2
    found = n.emit_all("top_k", x, k=middle + 1, axis=axis, largest=False, sorted=True)
    return tuple(n.shaped(n.slice(t, axis, middle, 1)) for t in found)


@aten("bucketize.Tensor")
def bucketize(n: AtenContext, x: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """How many boundaries are below each element, or not above it where ``right``."""
    row = n.reshape(boundaries, (*[1] * x.rank, boundaries.shape[0]))
    import torch

    meeting = str(torch.result_type(*[a.meta["val"] for a in n.node.args[:2]])).removeprefix("torch.")
    column = n.cast(n.reshape(x, (*x.shape, 1)), meeting)
    below = n.emit("greater_or_equal" if right else "greater", column, n.cast(row, meeting), dtype="bool")
    return n.emit("reduce_sum", n.cast(below, n.dtype), axes=(x.rank,))


@aten("searchsorted.Tensor")
def searchsorted(
    n: AtenContext,
    boundaries: Tensor,
    x: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    if sorter is not None or boundaries.rank != 1:
        raise n.unsupported("sequences of more than one dimension, or in another order")
    return bucketize(n, x, boundaries, out_int32=out_int32, right=right or side == "right")


@aten("_cdist_forward.default")
def distances(n: AtenContext, x: Tensor, y: Tensor, order: float, compute_mode: Any = None) -> Tensor:
    """The distance of each row of ``x`` to each of ``y``, from the differences, which cancel less than squares."""
    rows = n.reshape(x, (*x.shape[:-1], 1, x.shape[-1]))
    others = n.reshape(y, (*y.shape[:-2], 1, *y.shape[-2:]))
    return vector_norm(n, n.emit("sub", rows, others), order, len(n.shape))


@aten("_pdist_forward.default")
def own_distances(n: AtenContext, x: Tensor, order: float = 2) -> Tensor:
    """The distance of each pair of rows, the pairs in the order of their indices."""
    (count,) = n.static(x.shape[0])
    first, second = (n.constant(places) for places in np.triu_indices(count, 1))
    difference = n.emit("sub", n.emit("gather", x, first, axis=0), n.emit("gather", x, second, axis=0))
    return vector_norm(n, difference, order, 1)
