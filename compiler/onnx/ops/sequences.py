"""Sequences whose length is known while a model is translated; others are left to the host."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.ops import Dim

from ..attributes import dtype_of_code
from ..errors import OnHostError
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import UNCARRIED, Item, ListItem, Tensor

MAX_PARTS = 512
"""A tensor that is split into more parts is left to the host."""


@onnx_op("SequenceConstruct", 11)
def construct(n: NodeContext) -> ListItem:
    return _one_type(n, ListItem(list(n.inputs)))


@onnx_op("SequenceEmpty", 11)
def empty(n: NodeContext) -> ListItem:
    code = n.attr("dtype")
    return ListItem([], "float32" if code is None else dtype_of_code(code))


@onnx_op("SequenceInsert", 11)
def insert(n: NodeContext) -> ListItem:
    given = n.list_item(0)
    items = list(given.items)
    items.insert(_position(n, 2, len(items), len(items)) if n.given(2) else len(items), n.item(1))
    return _one_type(n, ListItem(items, given.dtype))


@onnx_op("SequenceErase", 11)
def erase(n: NodeContext) -> ListItem:
    given = n.list_item(0)
    items = list(given.items)
    if not items:
        raise n.error("the sequence is empty, expected an element to erase")
    del items[_position(n, 1, len(items), len(items) - 1) if n.given(1) else -1]
    return ListItem(items, given.dtype or _dtype(given))


@onnx_op("SequenceAt", 11)
def at(n: NodeContext) -> Item:
    items = n.list_item(0).items
    return items[_position(n, 1, len(items), len(items) - 1)]


@onnx_op("SequenceLength", 11)
def length(n: NodeContext) -> Tensor:
    return n.constant(len(n.list_item(0).items), "int64")


@onnx_op("SplitToSequence", 11, 24)
def split(n: NodeContext) -> ListItem:
    x = n.tensor(0)
    axis = n.axis(n.attr("axis"), x.rank)
    sizes = _part_sizes(n, x, axis)
    if len(sizes) > MAX_PARTS:
        raise OnHostError
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    parts = [n.slice(x, axis, start, size) for start, size in zip(starts, sizes)]
    if not n.given(1) and not n.attr("keepdims"):
        rest = tuple(d for i, d in enumerate(x.shape) if i != axis)
        parts = [n.reshape(part, rest) for part in parts]
    return ListItem(list(parts), x.dtype)


def _part_sizes(n: NodeContext, x: Tensor, axis: int) -> Sequence[int]:
    """Parts of one element without ``split``, of its size where it is one number, else of its sizes."""
    if n.given(1) and n.known(1) is None:
        raise OnHostError
    (size,) = n.static(x.shape[axis])
    if not n.given(1):
        return [1] * size
    given = n.ints(1)
    if n.tensor(1).rank == 0:
        if given[0] <= 0:
            raise n.error(f"input split is {given[0]}, expected 1 or more")
        return [min(given[0], size - start) for start in range(0, size, given[0])]
    if min(given, default=0) < 0 or sum(given) != size:
        raise n.error(f"input split is {list(given)}, expected sizes that sum up to {size}, axis {axis} of {x}")
    return given


@onnx_op("ConcatFromSequence", 11)
def concat(n: NodeContext) -> Tensor:
    items = n.list_item(0).items
    tensors = [t for t in items if isinstance(t, Tensor) and t.dtype not in UNCARRIED]
    if not items:
        raise n.error("the sequence is empty, expected one tensor or more")
    if len(tensors) < len(items):
        raise OnHostError
    rank = tensors[0].rank
    if not n.attr("new_axis"):
        axis = n.axis(n.attr("axis"), rank)
        return n.emit("concat", *tensors, axis=axis) if len(tensors) > 1 else tensors[0]
    axis = n.axis(n.attr("axis"), rank + 1)

    def with_axis(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return (*shape[:axis], 1, *shape[axis:])

    rows = [n.reshape(t, with_axis(t.shape)) for t in tensors]
    return n.emit("concat", *rows, axis=axis) if len(rows) > 1 else rows[0]


def _position(n: NodeContext, place: int, count: int, last: int) -> int:
    """A position counted from the front; ``-count`` to ``last`` are allowed."""
    if n.known(place) is None:
        raise OnHostError
    given = n.ints(place)
    if len(given) != 1:
        raise n.error(f"the position has {len(given)} elements, expected one")
    if not -count <= given[0] <= last:
        raise n.error(f"the position is {given[0]}, expected {-count} to {last} in a sequence of {count}")
    return given[0] + count if given[0] < 0 else given[0]


def _dtype(sequence: ListItem) -> str:
    return next((t.dtype for t in sequence.items if isinstance(t, Tensor)), "")


def _one_type(n: NodeContext, sequence: ListItem) -> ListItem:
    types = {t.dtype for t in sequence.items if isinstance(t, Tensor)}
    if len(types) > 1:
        raise n.error(f"tensors of types {', '.join(sorted(types))} are given, expected one type")
    return sequence
