"""Operators that make larger tensors: concat, pad, tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .convert import MAX_TENSORS, cast_number, dimension, enum, number, positive, sequence, uint
from .dims import Dim
from .layout import concrete
from .registry import register
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import check_axis, check_shape, same_dim, text
from .types import ANY, TensorType


@register
class Concat(Operator):
    """The inputs one after another along an axis; their other dimensions must agree."""

    name = webnn = "concat"
    operands = (Operand("inputs", ANY, (1, 8), variadic=True, doc="the tensors to join, of one data type and rank"),)
    arguments = (Option("axis", uint, doc="the axis to join along"),)
    outputs = (Output(dtypes="inputs", rank="inputs"),)
    section = "api-mlgraphbuilder-concat"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        if not 1 <= len(t.inputs) <= MAX_TENSORS:
            fail(f"got {len(t.inputs)} inputs, expected 1 to {MAX_TENSORS}")
        first = t.inputs[0]
        axis = check_axis(a["axis"], first.rank)
        shape: list[Dim] = list(first.shape)
        for i, given in enumerate(t.inputs[1:], 1):
            _check_joins(first, given, axis, i)
            for d, size in enumerate(given.shape):
                if d == axis:
                    shape[d] = shape[d] + size
                elif isinstance(size, int):
                    shape[d] = size
        return [TensorType(first.dtype, check_shape(shape, zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.concatenate(x.inputs, a["axis"])]


def _check_joins(first: TensorType, given: TensorType, axis: int, i: int) -> None:
    if given.dtype != first.dtype or given.rank != first.rank:
        fail(f"inputs[{i}] is {given}, expected the data type and rank of inputs[0], {first}")
    for d, (size, wanted) in enumerate(zip(given.shape, first.shape)):
        if d != axis and not same_dim(size, wanted):
            fail(f"inputs[{i}] has size {size} in dimension {d}, expected that of inputs[0], {wanted}")


@register
class Pad(Operator):
    """The input with elements added before and after it in each dimension.

    The mode says which: ``constant`` adds ``value`` (cast to the input's data type), ``edge`` repeats the outermost
    elements, ``reflection`` mirrors the input at its outermost elements without repeating them.
    """

    name = webnn = "pad"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    arguments = (
        Option("beginning_padding", sequence(dimension), doc="how many elements to add before, for each dimension"),
        Option("ending_padding", sequence(dimension), doc="how many elements to add after, for each dimension"),
    )
    options = (
        Option("mode", enum("constant", "edge", "reflection"), "constant", "what the added elements are"),
        Option("value", number, 0, "the added elements where the mode is constant"),
    )
    section = "api-mlgraphbuilder-pad"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        for name in ("beginning_padding", "ending_padding"):
            if len(a[name]) != t.input.rank:
                fail(f"{name} {text(a[name])} has {len(a[name])} values, expected {t.input.rank}, the input's rank")
            for axis, (added, size) in enumerate(zip(a[name], t.input.shape)):
                _check_padding(f"{name}[{axis}]", added, size, a["mode"])
        a["value"] = cast_number(a["value"], t.input.dtype)
        sizes = zip(t.input.shape, a["beginning_padding"], a["ending_padding"])
        return [TensorType(t.input.dtype, check_shape([size + b + e for size, b, e in sizes], zero=True))]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        widths = list(zip(a["beginning_padding"], a["ending_padding"]))
        source = np.asarray(x.input)
        if a["mode"] == "constant":
            padded = np.full(concrete(out[0].shape), np.asarray(a["value"]).astype(source.dtype))
            padded[tuple(slice(b, b + n) for (b, _), n in zip(widths, source.shape))] = source
            return [padded]
        if not widths:
            return [source]
        return [np.pad(source, widths, mode="edge" if a["mode"] == "edge" else "reflect")]


def _check_padding(name: str, added: Dim, size: Dim, mode: str) -> None:
    if not isinstance(added, int):
        return
    if added < 0:
        fail(f"{name} is {added}, expected no negative number")
    if mode == "reflection" and isinstance(size, int) and added >= max(size, 1):
        fail(f"{name} is {added}, expected less than the dimension's size, {size}, in mode reflection")
    if mode == "edge" and size == 0 and added:
        fail(f"{name} is {added}, but an empty dimension has no edge to repeat")


@register
class Tile(Operator):
    """The input repeated as a whole, a number of times in each dimension."""

    name = webnn = "tile"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    arguments = (Option("repetitions", sequence(positive), doc="how often, for each dimension, at least once"),)
    section = "api-mlgraphbuilder-tile"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        counts = a["repetitions"]
        if len(counts) != t.input.rank:
            fail(f"repetitions {text(counts)} has {len(counts)} values, expected {t.input.rank}, the input's rank")
        shape = check_shape([size * n for size, n in zip(t.input.shape, counts)], zero=True)
        return [TensorType(t.input.dtype, shape)]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.tile(x.input, a["repetitions"])]
