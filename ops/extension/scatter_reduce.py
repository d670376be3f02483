"""Writing by index where what is there already takes part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import enum
from ..indexing import INDEX_TYPES, _coordinates, _split_coordinates
from ..registry import register_extension
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import same_shape, text
from ..types import ANY, TensorType

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
    arguments = (Option("reduction", enum("add", "mul", "max", "min"), doc="how they are combined"),)
    outputs = (Output(rank=(1, 8)),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        expected = _split_coordinates(t)
        if not same_shape(t.updates.shape, expected):
            fail(f"updates has shape {text(t.updates.shape)}, expected {text(expected)}: one slice for each coordinate")
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        result = np.array(x.input)
        updates = np.asarray(x.updates)
        combine = _UFUNCS[a["reduction"]]
        places = _coordinates(x.indices, result.shape)
        with np.errstate(all="ignore"):
            if result.dtype.isbuiltin == 1:
                combine.at(result, places, updates)
                return [result]
            # NumPy's ufunc.at knows no other data types.
            for at in np.ndindex(places[0].shape):
                place = tuple(p[at] for p in places)
                result[place] = combine(result[place], updates[at])
        return [result]
