"""Cumulative operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from .convert import boolean, uint
from .registry import register
from .schema import Arrays, Attrs, Operand, Operator, Option, Types
from .shapes import check_axis
from .types import FLOATS, TensorType, is_float


class Cumulative(Operator):
    """The base of operators that combine the elements along an axis up to each; floats are combined in float64."""

    neutral: ClassVar[int]
    """What combining begins with."""
    accumulate: ClassVar[Callable[..., np.ndarray]]
    """NumPy's function along an axis."""

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        check_axis(a["axis"], t.input.rank)
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        axis, given = a["axis"], np.asarray(x.input)
        terms = given.astype(np.float64) if is_float(given.dtype.name) else given
        if a["reversed"]:
            terms = np.flip(terms, axis)
        if a["exclusive"]:
            shifted = np.full_like(terms, self.neutral)
            np.moveaxis(shifted, axis, 0)[1:] = np.moveaxis(terms, axis, 0)[:-1]
            terms = shifted
        with np.errstate(all="ignore"):
            results = type(self).accumulate(terms, axis, dtype=terms.dtype).astype(given.dtype)
        return [np.flip(results, axis) if a["reversed"] else results]


@register
class CumulativeSum(Cumulative):
    """The running sum along an axis; integers wrap around."""

    name = "cumulative_sum"
    webnn = "cumulativeSum"
    operands = (Operand("input", FLOATS | {"int32", "uint32", "int64", "uint64"}, (1, 8), doc="the input tensor"),)
    arguments = (Option("axis", uint, doc="the axis to sum along"),)
    options = (
        Option("exclusive", boolean, False, "whether each sum leaves out the element at its own position"),
        Option("reversed", boolean, False, "whether to sum from the last element to the first"),
    )
    section = "api-mlgraphbuilder-cumulativesum"
    neutral = 0
    accumulate = staticmethod(np.cumsum)
