"""Sums, means and maxima of embeddings in bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...onnx.tensor import Tensor, onnx_dtype
from ..context import AtenContext
from ..registry import aten
from .creation import positions

_SUM, _MEAN, _MAX = range(3)


@aten("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    n: AtenContext,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor | None, ...]:
    if n.read & {1, 2, 3}:
        raise n.unsupported("the intermediate results of a bag of embeddings")
    members = _members(n, indices, offsets, include_last_offset)
    if padding_idx >= 0:
        kept = n.emit("not_equal", indices, n.scalar(padding_idx, indices), dtype="bool")
        members = n.call("And", members, kept)
    rows = n.emit("gather", weight, indices, axis=0)
    if mode == _MAX:
        return _largest(n, rows, members), None, None, None
    share = n.cast(members, weight.dtype)
    if mode == _MEAN:
        count = n.emit("reduce_sum", share, axes=(1,), keep_dimensions=True)
        share = n.emit("div", share, n.emit("max", count, n.scalar(1, count)))
    if per_sample_weights is not None:
        share = n.emit("mul", share, n.reshape(per_sample_weights, (1, *per_sample_weights.shape)))
    return n.emit("matmul", share, rows), None, None, None


def _members(n: AtenContext, indices: Tensor, offsets: Tensor, include_last: bool) -> Tensor:
    """Whether each index is in each bag, bool[bags, indices]."""
    count, bags = indices.shape[0], offsets.shape[0]
    offsets = n.cast(offsets, "int64")
    if include_last:
        bags = bags - 1
        starts, ends = n.slice(offsets, 0, 0, bags), n.slice(offsets, 0, 1, bags)
    else:
        starts = offsets
        end = n.cast(n.size_tensor((count,)), "int64")
        ends = n.emit("concat", n.slice(offsets, 0, 1, bags - 1), end, axis=0)
    places = n.reshape(positions(n, count), (1, count))
    after = n.emit("greater_or_equal", places, n.reshape(starts, (bags, 1)), dtype="bool")
    before = n.emit("lesser", places, n.reshape(ends, (bags, 1)), dtype="bool")
    return n.call("And", after, before)


def _largest(n: AtenContext, rows: Tensor, members: Tensor) -> Tensor:
    """The maximum of each bag's rows; zeros for an empty bag."""
    bags, count = members.shape
    inside = n.reshape(members, (bags, count, 1))
    lowest: Any = n.constant(np.array(-np.inf, onnx_dtype(rows.dtype)))
    candidates = n.emit("where", inside, n.reshape(rows, (1, *rows.shape)), lowest)
    found = n.emit("reduce_max", candidates, axes=(1,))
    full = n.emit("reduce_max", n.cast(members, "uint8"), axes=(1,), keep_dimensions=True)
    return n.emit("where", full, found, n.scalar(0, rows))
