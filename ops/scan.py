"""Cumulative operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .convert import boolean, uint
from .registry import register
from .schema import Arrays, Attrs, Operand, Operator, Option, Types
from .shapes import check_axis
from .types import FLOATS, TensorType, is_float


@register
class CumulativeSum(Operator):
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

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        check_axis(a["axis"], t.input.rank)
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        axis, given = a["axis"], np.asarray(x.input)
        terms = given.astype(np.float64) if is_float(given.dtype.name) else given
        if a["reversed"]:
            terms = np.flip(terms, axis)
        if a["exclusive"]:
            shifted = np.zeros_like(terms)
            np.moveaxis(shifted, axis, 0)[1:] = np.moveaxis(terms, axis, 0)[:-1]
            terms = shifted
        with np.errstate(all="ignore"):
            sums = np.cumsum(terms, axis, dtype=terms.dtype).astype(given.dtype)
        return [np.flip(sums, axis) if a["reversed"] else sums]
