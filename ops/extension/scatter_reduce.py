"""Writing by index where what is there already takes part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import enum, uint
from ..dims import known
from ..indexing import INDEX_TYPES, _check_source, _coordinates, _split_coordinates, clamp_indices
from ..registry import register_extension
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_axis, same_shape, text
from ..types import ANY, TensorType

_REDUCTION = Option("reduction", enum("add", "mul", "max", "min"), doc="how they are combined")
_UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@register_extension
class ScatterNdReduce(Operator):
    """A copy of the input in which the slice at each coordinate is combined with one slice of the updates.

    As ``scatter_nd``, but an update is added to, multiplied with or compared with what is there, in row-major order of
    the coordinates, one after the other: where two name one slice both take part. Integers wrap around, narrow floats
    are rounded after each update, and NaN is both the largest and the smallest.
    """

    name = "scatter_nd_reduce"
    operands = (
        Operand("input", ANY, (1, 8), doc="the tensor to start from"),
        Operand("indices", INDEX_TYPES, (1, 8), doc="the coordinates; negative indices count from the end"),
        Operand("updates", "input", doc="what the slices are combined with, one for each coordinate"),
    )
    arguments = (_REDUCTION,)
    outputs = (Output(rank=(1, 8)),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        expected = _split_coordinates(t)
        if not same_shape(t.updates.shape, expected):
            fail(f"updates has shape {text(t.updates.shape)}, expected {text(expected)}: one slice for each coordinate")
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        places = _coordinates(x.indices, np.shape(x.input))
        return [_combined(x.input, places, x.updates, a["reduction"])]


@register_extension
class ScatterElementsReduce(Operator):
    """A copy of the input in which the element at each index is combined with one of the updates.

    As ``scatter_elements``, but as :class:`ScatterNdReduce` does; indices may be fewer than the input's elements along
    any axis.
    """

    name = "scatter_elements_reduce"
    operands = (
        Operand("input", ANY, (1, 8), doc="the tensor to start from"),
        Operand("indices", INDEX_TYPES, "input", doc="positions along the axis; negative ones count from the end"),
        Operand("updates", "input", "input", doc="what the elements are combined with, one for each index"),
    )
    arguments = (_REDUCTION,)
    options = (Option("axis", uint, 0, "the axis that the indices count along"),)
    outputs = (Output(rank=(1, 8)),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        axis = check_axis(a["axis"], t.input.rank)
        if not same_shape(t.updates.shape, t.indices.shape):
            fail(f"updates has shape {text(t.updates.shape)}, expected that of indices, {text(t.indices.shape)}")
        for i, (size, count) in enumerate(zip(t.input.shape, t.indices.shape)):
            if i != axis and known(size, count) and count > size:
                fail(f"indices has size {count} in dimension {i}, expected at most the input's, {size}")
        _check_source(t.input.shape[axis], t.indices)
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        indices = np.asarray(x.indices)
        places: list[np.ndarray] = list(np.indices(indices.shape, sparse=True))
        places[a["axis"]] = clamp_indices(indices, np.shape(x.input)[a["axis"]])
        return [_combined(x.input, tuple(np.broadcast_arrays(*places)), x.updates, a["reduction"])]


def _combined(x: np.ndarray, places: tuple[np.ndarray, ...], updates: np.ndarray, reduction: str) -> np.ndarray:
    result, combine = np.array(x), _UFUNCS[reduction]
    updates = np.asarray(updates)
    with np.errstate(all="ignore"):
        if result.dtype.isbuiltin == 1:
            combine.at(result, places, updates)
            return result
        # NumPy's ufunc.at knows no other data types.
        for at in np.ndindex(places[0].shape):
            place = tuple(p[at] for p in places)
            result[place] = combine(result[place], updates[at])
    return result
