"""Medians, distances and places among boundaries."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from basalt.ops.dims import product

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten
from .creation import positions
from .pointwise import both
from .reduction import vector_norm


@aten("median.dim")
def median(n: AtenContext, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, ...]:
    """The lower of the two middle elements where their number is even."""
    axis = n.dim(dim, x.rank)
    (size,) = n.static(x.shape[axis])
    middle = (size - 1) // 2
    found = n.emit_all("top_k", x, k=middle + 1, axis=axis, largest=False, sorted=True)
    return tuple(n.shaped(n.slice(t, axis, middle, 1)) for t in found)


@aten("median.default")
def median_of_all(n: AtenContext, x: Tensor) -> Tensor:
    count = product(x.shape)
    (size,) = n.static(count)
    middle = (size - 1) // 2
    row = n.reshape(x, (size,))
    found, _ = n.emit_all("top_k", row, k=middle + 1, axis=0, largest=False, sorted=True)
    return n.shaped(n.slice(found, 0, middle, 1))


def _running(n: AtenContext, x: Tensor, dim: int, *, op: str) -> tuple[Tensor, Tensor]:
    """The greatest or least element up to each place along an axis, and the last place that has it."""
    if not x.rank:
        return x, n.filled(0, (), "int64")
    axis = n.dim(dim, x.rank)
    size = x.shape[axis]
    order = [*[i for i in range(x.rank) if i != axis], axis]
    rows = n.transpose(x, order)
    rows = n.expand(n.reshape(rows, (*rows.shape[:-1], 1, size)), (*rows.shape[:-1], size, size))
    places = positions(n, size)
    later = n.emit("greater", n.reshape(places, (1, size)), n.reshape(places, (size, 1)), dtype="bool")
    # An element that comes later counts as the first one, which is among those up to each place.
    first = n.slice(rows, rows.rank - 1, 0, 1)
    candidates = n.emit("where", later, first, rows)
    values = n.call(f"Reduce{op}", candidates, n.constant([candidates.rank - 1], "int64"), keepdims=0)
    equal = n.emit("equal", candidates, n.reshape(values, (*values.shape, 1)), dtype="bool")
    found = n.emit("where", equal, n.emit("where", later, n.constant(0, "int64"), places), n.constant(0, "int64"))
    index = n.emit("reduce_max", found, axes=(found.rank - 1,))
    back = [order.index(i) for i in range(x.rank)]
    return n.transpose(values, back), n.transpose(index, back)


aten("cummax.default")(partial(_running, op="Max"))
aten("cummin.default")(partial(_running, op="Min"))


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


@aten("dist.default")
def distance(n: AtenContext, x: Tensor, y: Tensor, order: float = 2) -> Tensor:
    return vector_norm(n, n.emit("sub", *both(n, x, y)), order)


@aten("_pdist_forward.default")
def own_distances(n: AtenContext, x: Tensor, order: float = 2) -> Tensor:
    """The distance of each pair of rows, the pairs in the order of their indices."""
    (count,) = n.static(x.shape[0])
    first, second = (n.constant(places) for places in np.triu_indices(count, 1))
    difference = n.emit("sub", n.emit("gather", x, first, axis=0), n.emit("gather", x, second, axis=0))
    return vector_norm(n, difference, order, 1)
