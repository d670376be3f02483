"""Reading and writing by index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import Dim

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten
from .creation import positions
from .masking import put_masked
from .pointwise import floor_divide, is_integer

_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}


@aten("embedding.default")
def embedding(
    n: AtenContext, weight: Tensor, indices: Tensor, padding_idx: int = -1, scale: Any = False, sparse: Any = False
) -> Tensor:
    return n.emit("gather", weight, indices, axis=0)


@aten("index_select.default")
def index_select(n: AtenContext, x: Tensor, dim: int, index: Tensor) -> Tensor:
    if not x.rank:
        return n.shaped(x)
    return n.emit("gather", x, n.reshape(index, (index.shape[0] if index.rank else 1,)), axis=n.dim(dim, x.rank))


@aten("gather.default")
def gather(n: AtenContext, x: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    if not x.rank:
        return x
    axis = n.dim(dim, x.rank)
    for i, (size, wanted) in enumerate(zip(x.shape, index.shape)):
        if i != axis and size != wanted:
            x = n.slice(x, i, 0, wanted)
    return n.emit("gather_elements", x, index, axis=axis)


@aten("scatter.src", "scatter.value")
def scatter(n: AtenContext, x: Tensor, dim: int, index: Tensor, source: Any) -> Tensor:
    axis = n.dim(dim, x.rank)
    return n.call("ScatterElements", x, index, _updates(n, x, index, source), axis=axis)


@aten("scatter_add.default")
def scatter_add(n: AtenContext, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    axis = n.dim(dim, x.rank)
    return n.call("ScatterElements", x, index, _updates(n, x, index, source), axis=axis, reduction="add")


@aten("scatter_reduce.two", "scatter.reduce", "scatter.value_reduce")
def scatter_reduce(
    n: AtenContext, x: Tensor, dim: int, index: Tensor, source: Any, reduce: str, include_self: bool = True
) -> Tensor:
    axis, updates = n.dim(dim, x.rank), _updates(n, x, index, source)

    def scatter(target: Tensor, written: Tensor, reduction: str = "none") -> Tensor:
        return n.call("ScatterElements", target, index, written, axis=axis, reduction=reduction)

    base = x
    if not include_self:
        touched = scatter(n.filled(0, x.shape, "uint8"), n.filled(1, index.shape, "uint8"))
        base = n.emit("where", touched, n.filled(_neutral(reduce, x.dtype), x.shape, x.dtype), x)
    if reduce != "mean":
        return scatter(base, updates, _REDUCTIONS[reduce])
    ones = n.filled(1, index.shape, x.dtype)
    start = n.filled(1, x.shape, x.dtype)
    if not include_self:
        start = n.emit("where", touched, n.filled(0, x.shape, x.dtype), start)
    total, count = scatter(base, updates, "add"), scatter(start, ones, "add")
    return n.call("Div", total, count) if not is_integer(x.dtype) else floor_divide(n, total, count)


def _neutral(reduce: str, dtype: str) -> Any:
    """What a reduction of one element starts from."""
    if reduce in ("sum", "mean", "add"):
        return 0
    if reduce in ("prod", "multiply"):
        return 1
    if not is_integer(dtype):
        return -math.inf if reduce == "amax" else math.inf
    limits = np.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max


def _updates(n: AtenContext, x: Tensor, index: Tensor, source: Any) -> Tensor:
    """What is written, one for each index; torch leaves the rest of a larger source unread."""
    if not isinstance(source, Tensor):
        return n.filled(source, index.shape, x.dtype)
    for i, (size, wanted) in enumerate(zip(source.shape, index.shape)):
        if size != wanted:
            source = n.slice(source, i, 0, wanted)
    return source


@aten("index.Tensor", "_unsafe_index.Tensor")
def index_tensor(n: AtenContext, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    axes, given = _given(n, indices)
    if len(axes) == 1:
        return n.emit("gather", x, given[0], axis=axes[0])
    rest = [axis for axis in range(x.rank) if axis not in axes]
    front = n.transpose(x, [*axes, *rest])
    result = n.emit("gather_nd", front, _coordinates(n, given))
    if axes != list(range(axes[0], axes[0] + len(axes))):
        return result
    # Axes beside each other are replaced where they stand, others come first.
    count, before = result.rank - len(rest), axes[0]
    order = [*range(count, count + before), *range(count), *range(count + before, result.rank)]
    return n.transpose(result, order)


def _given(n: AtenContext, indices: Sequence[Tensor | None]) -> tuple[list[int], list[Tensor]]:
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if any(index.dtype in ("bool", "uint8") for index in given):
        raise n.unsupported("indexing by a mask, whose result has a size that only running tells")
    return axes, [n.cast(index, "int64") for index in given]


def _coordinates(n: AtenContext, indices: Sequence[Tensor]) -> Tensor:
    """Indices broadcast to one shape, with one more axis for the place among them."""
    total = indices[0]
    for index in indices[1:]:
        total = n.emit("add", total, index)
    parts = [n.expand(index, total.shape) for index in indices]
    return n.emit("concat", *[n.reshape(p, (*p.shape, 1)) for p in parts], axis=total.rank)


@aten("index_put.default", "_unsafe_index_put.default")
def index_put(
    n: AtenContext, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == "bool":
        return put_masked(n, x, indices[0], values, accumulate)
    axes, given = _given(n, indices)
    rest = [axis for axis in range(x.rank) if axis not in axes]
    order = [*axes, *rest]
    places = _coordinates(n, given)
    updates = _placed(n, x, n.cast(values, x.dtype), axes, places.shape[:-1])
    reduction = "add" if accumulate else "none"
    written: Tensor = n.call("ScatterND", n.transpose(x, order), places, updates, reduction=reduction)
    return n.transpose(written, [order.index(axis) for axis in range(x.rank)])


def _placed(n: AtenContext, x: Tensor, values: Tensor, axes: Sequence[int], shape: Sequence[Dim]) -> Tensor:
    """Values for each place, the places' axes first."""
    rest = tuple(d for axis, d in enumerate(x.shape) if axis not in axes)
    before = axes[0] if list(axes) == list(range(axes[0], axes[0] + len(axes))) else 0
    values = n.expand(values, (*rest[:before], *shape, *rest[before:]))
    count = len(shape)
    return n.transpose(values, [*range(before, before + count), *range(before), *range(before + count, values.rank)])


@aten("slice_scatter.default")
def slice_scatter(
    n: AtenContext, x: Tensor, source: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    axis = n.dim(dim, x.rank)
    begin = 0 if start is None else start
    size, count = x.shape[axis], source.shape[axis]
    if isinstance(begin, int) and isinstance(size, int):
        begin = min(max(begin + size, 0) if begin < 0 else begin, size)
    begin = begin + size if isinstance(begin, int) and begin < 0 else begin
    if step != 1:
        places = n.reshape(positions(n, count, begin, step), (count, 1))
        order = [axis, *[i for i in range(x.rank) if i != axis]]
        written: Tensor = n.call(
            "ScatterND", n.transpose(x, order), places, n.transpose(n.cast(source, x.dtype), order), reduction="none"
        )
        return n.transpose(written, [order.index(i) for i in range(x.rank)])
    end = begin + count
    parts = [n.slice(x, axis, 0, begin)] if begin != 0 else []
    parts.append(n.cast(source, x.dtype))
    if end != size:
        parts.append(n.slice(x, axis, end, size - end))
    return parts[0] if len(parts) == 1 else n.emit("concat", *parts, axis=axis)


@aten("select_scatter.default")
def select_scatter(n: AtenContext, x: Tensor, source: Tensor, dim: int, index: Any) -> Tensor:
    axis = n.dim(dim, x.rank)
    begin = index + x.shape[axis] if isinstance(index, int) and index < 0 else index
    row = n.reshape(source, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    return slice_scatter(n, x, row, axis, begin)


@aten("diagonal_scatter.default")
def diagonal_scatter(
    n: AtenContext, x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    axes = [n.dim(dim1, x.rank), n.dim(dim2, x.rank)]
    order = [*axes, *[axis for axis in range(x.rank) if axis not in axes]]
    rows = n.transpose(n.cast(source, x.dtype), [source.rank - 1, *range(source.rank - 1)])
    places = _diagonal_places(n, source.shape[-1], offset)
    written: Tensor = n.call("ScatterND", n.transpose(x, order), places, rows, reduction="none")
    return n.transpose(written, [order.index(axis) for axis in range(x.rank)])


def _diagonal_places(n: AtenContext, count: Dim, offset: int) -> Tensor:
    line = n.reshape(positions(n, count), (count, 1))
    return n.emit("add", line, n.constant(np.array([max(-offset, 0), max(offset, 0)])))


@aten("unfold.default")
def unfold(n: AtenContext, x: Tensor, dim: int, size: int, step: int) -> Tensor:
    axis = n.dim(dim, x.rank)
    count = n.shape[axis]
    starts = n.reshape(positions(n, count, 0, step), (count, 1))
    windows = n.emit("gather", x, n.emit("add", starts, n.constant(np.arange(size))), axis=axis)
    return n.transpose(windows, [i for i in range(windows.rank) if i != axis + 1] + [axis + 1])


@aten("diagonal.default")
def diagonal(n: AtenContext, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    axes = [n.dim(dim1, x.rank), n.dim(dim2, x.rank)]
    rest = [axis for axis in range(x.rank) if axis not in axes]
    places = _diagonal_places(n, n.shape[-1], offset)
    line = n.emit("gather_nd", n.transpose(x, [*axes, *rest]), places)
    return n.transpose(line, [*range(1, line.rank), 0])
