"""Operators that take tensors apart: slice, split, triangular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .convert import MAX_TENSORS, boolean, dimension, int32, integer, nullable, positive, sequence, uint
from .dims import Dim, ceil_div
from .layout import concrete
from .registry import register
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import check_axis, text
from .types import ANY, TensorType


@register
class Slice(Operator):
    """A part of the input: in each dimension ``sizes`` elements from ``starts`` on, of which every ``strides``-th."""

    name = webnn = "slice"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    arguments = (
        Option("starts", sequence(dimension), doc="the first index, for each dimension"),
        Option("sizes", sequence(positive), doc="the extent in the input, for each dimension, at least 1"),
    )
    options = (
        Option("strides", nullable(sequence(integer(1, 2**32 - 1))), None, "the steps, at least 1; None for all 1"),
    )
    section = "api-mlgraphbuilder-slice"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        rank = t.input.rank
        if a["strides"] is None:
            a["strides"] = (1,) * rank
        for name in ("starts", "sizes", "strides"):
            if len(a[name]) != rank:
                fail(f"{name} {text(a[name])} has {len(a[name])} values, expected one for each of {rank} dimensions")
        rows = zip(t.input.shape, a["starts"], a["sizes"], a["strides"])
        return [TensorType(t.input.dtype, tuple(_sliced(i, *row) for i, row in enumerate(rows)))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        window = tuple(slice(b, b + n, s) for b, n, s in zip(a["starts"], a["sizes"], a["strides"]))
        return [np.asarray(x.input)[window]]


def _sliced(axis: int, size: Dim, start: Dim, extent: Dim, stride: int) -> Dim:
    """The output's size along an axis."""
    left = size - start - extent
    for name, value in (("starts", start), ("sizes", extent)):
        if isinstance(value, int) and value < 0:
            fail(f"{name}[{axis}] is {value}, expected no negative number")
    if isinstance(left, int) and left < 0:
        fail(f"starts[{axis}] + sizes[{axis}] is {start + extent}, beyond the input's size {size}")
    if stride < 1:
        fail(f"strides[{axis}] is {stride}, expected at least 1")
    return ceil_div(extent, stride)


def _splits(value: Any) -> int | tuple[Any, ...]:
    """A number of equal parts, or the sizes of the parts."""
    return uint(value) if isinstance(value, (int, np.integer)) else sequence(positive)(value)


@register
class Split(Operator):
    """The input cut into parts along an axis: a list of tensors.

    ``splits`` is their number, which must divide the size of the axis, or their sizes, which must add up to it.
    """

    name = webnn = "split"
    operands = (Operand("input", ANY, (1, 8), doc="the input tensor"),)
    arguments = (Option("splits", _splits, doc="the number of equal parts, or the size of each"),)
    options = (Option("axis", uint, 0, "the axis to cut along"),)
    outputs = (Output("outputs", variadic=True, doc="the parts, in order"),)
    section = "api-mlgraphbuilder-split"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axis = check_axis(a["axis"], t.input.rank)
        sizes = _part_sizes(t.input.shape[axis], a["splits"])
        before, after = t.input.shape[:axis], t.input.shape[axis + 1 :]
        return [TensorType(t.input.dtype, (*before, size, *after)) for size in sizes]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        ends = np.cumsum([concrete(o.shape)[a["axis"]] for o in out])
        return np.split(np.asarray(x.input), ends[:-1], a["axis"])


def _part_sizes(size: Dim, splits: int | tuple[Dim, ...]) -> tuple[Dim, ...]:
    count = splits if isinstance(splits, int) else len(splits)
    if not 1 <= count <= MAX_TENSORS:
        fail(f"splits asks for {count} parts, expected 1 to {MAX_TENSORS}")
    if isinstance(splits, int):
        if isinstance(size, int) and size % splits:
            fail(f"splits is {splits}, which does not divide the axis of size {size}")
        return (size // splits,) * splits
    total: Dim = 0
    for part in splits:
        total = total + part
    left = size - total
    if isinstance(left, int) and left != 0:
        fail(f"splits {text(splits)} add up to {total}, expected the size of the axis, {size}")
    return splits


@register
class Triangular(Operator):
    """The upper or lower triangle of each matrix in the last two dimensions; the other elements are 0.

    Element (row, column) is kept where ``column - row >= diagonal`` (upper) or ``<= diagonal`` (lower).
    """

    name = webnn = "triangular"
    operands = (Operand("input", ANY, (2, 8), doc="the matrices, in the last two dimensions"),)
    options = (
        Option("upper", boolean, True, "whether the upper triangle is kept"),
        Option("diagonal", int32, 0, "the diagonal that bounds it, counted upward from the main one"),
    )
    section = "api-mlgraphbuilder-triangular"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        matrix = np.asarray(x.input)
        rows, columns = matrix.shape[-2:]
        offset = np.arange(columns) - np.arange(rows)[:, None]
        kept = offset >= a["diagonal"] if a["upper"] else offset <= a["diagonal"]
        return [np.where(kept, matrix, np.zeros((), matrix.dtype))]
