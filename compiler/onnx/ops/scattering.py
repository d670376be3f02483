"""Operators that write elements by index: Scatter, ScatterElements, ScatterND, TensorScatter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import Dim
from basalt.ops.dims import known
from basalt.ops.shapes import same_shape, text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .positions import check_known, coordinates, counting_along, size_tensor, wide_indices

_REDUCTIONS = ("none", "add", "mul", "max", "min")


def _reduction(n: NodeContext, x: Tensor) -> str:
    """The core's name of the reduction."""
    name = n.attr("reduction", "none")
    if name not in _REDUCTIONS:
        raise n.error(f"reduction is {name!r}, expected one of {', '.join(_REDUCTIONS)}")
    if x.dtype == "bool":
        # Sums of truth values are true where one is, products where both are.
        return {"add": "max", "mul": "min"}.get(name, str(name))
    return str(name)


@onnx_op("Scatter", 9, 11)
@onnx_op("ScatterElements", 11, 13, 16, 18)
def scatter_elements(n: NodeContext) -> Tensor:
    x, indices, updates = n.tensor(0), n.tensor(1), n.tensor(2)
    axis, reduction = n.axis(n.attr("axis"), x.rank), _reduction(n, x)
    if indices.rank != x.rank or not same_shape(indices.shape, updates.shape):
        raise n.error(f"indices and updates are {indices} and {updates}, expected one shape, of rank {x.rank}")
    others = [(d, e) for i, (d, e) in enumerate(zip(x.shape, indices.shape)) if i != axis]
    if any(known(d, e) and e > d for d, e in others):  # type: ignore[operator]
        raise n.error(f"indices has shape {text(indices.shape)}, expected at most {text(x.shape)} but for axis {axis}")
    check_known(n, indices, x.shape[axis : axis + 1])
    if reduction == "none" and all(d == e for d, e in others):
        return n.emit("scatter_elements", x, indices, updates, axis=axis)
    if reduction != "none":
        return n.emit("scatter_elements_reduce", x, indices, updates, reduction=reduction, axis=axis, dtype=x.dtype)
    places = [counting_along(n, d, i, x.rank) for i, d in enumerate(indices.shape)]
    places[axis] = wide_indices(n, indices)
    return n.emit("scatter_nd", x, coordinates(n, places, indices.shape), updates)


@onnx_op("ScatterND", 11, 13, 16, 18)
def scatter_nd(n: NodeContext) -> Tensor:
    x, indices = n.tensor(0), n.tensor(1)
    check_known(n, indices, x.shape)
    reduction = _reduction(n, x)
    if reduction == "none":
        return n.emit("scatter_nd", x, indices, n.tensor(2))
    return n.emit("scatter_nd_reduce", x, indices, n.tensor(2), reduction=reduction, dtype=x.dtype)


def _check_cache(n: NodeContext, cache: Tensor, update: Tensor, axis: int) -> None:
    expected = [u if i == axis else d for i, (d, u) in enumerate(zip(cache.shape, update.shape))]
    if axis == 0 or update.rank != cache.rank or not same_shape(update.shape, expected):
        raise n.error(f"update has shape {text(update.shape)}, expected that of past_cache but for axis {axis}, not 0")
    size, length = cache.shape[axis], update.shape[axis]
    if known(size, length) and length > size:  # type: ignore[operator]
        raise n.error(f"update has {length} places along axis {axis}, expected at most past_cache's {size}")


@onnx_op("TensorScatter", 24)
def tensor_scatter(n: NodeContext) -> Tensor:
    cache, update, starts = n.tensor(0), n.tensor(1), n.optional(2)
    axis, mode = n.axis(n.attr("axis"), cache.rank), n.attr("mode")
    _check_cache(n, cache, update, axis)
    if mode not in ("linear", "circular"):
        raise n.error(f"mode is {mode!r}, expected linear or circular")
    if starts is None:
        starts = n.expand(n.constant(np.zeros(1, np.int64)), cache.shape[:1])
    lead: Sequence[Dim] = update.shape[: axis + 1]
    rank = len(lead)
    place = n.emit(
        "add",
        n.reshape(starts, (starts.shape[0], *[1] * axis)),
        counting_along(n, update.shape[axis], axis, rank),
    )
    if mode == "circular":
        place = n.emit("mod", place, size_tensor(cache.shape[axis]))
    parts = [counting_along(n, d, i, rank) for i, d in enumerate(lead[:-1])] + [place]
    return n.emit("scatter_nd", cache, coordinates(n, parts, lead), update)
