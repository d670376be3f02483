"""Cumulative operators beyond the standard's sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..registry import register_extension
from ..scan import CumulativeSum
from ..schema import Arrays, Attrs, Operator, Option, Types
from ..shapes import check_axis
from ..types import TensorType, is_float


@register_extension
class CumulativeProduct(Operator):
    """The running product along an axis; integers wrap around."""

    name = "cumulative_product"
    operands = CumulativeSum.operands
    arguments = (Option("axis", CumulativeSum.arguments[0].convert, doc="the axis to multiply along"),)
    options = tuple(
        Option(o.name, o.convert, o.default, o.doc.replace("sum", "product" if o.name == "exclusive" else "multiply"))
        for o in CumulativeSum.options
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        check_axis(a["axis"], t.input.rank)
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        axis, given = a["axis"], np.asarray(x.input)
        factors = given.astype(np.float64) if is_float(given.dtype.name) else given
        if a["reversed"]:
            factors = np.flip(factors, axis)
        if a["exclusive"]:
            shifted = np.ones_like(factors)
            np.moveaxis(shifted, axis, 0)[1:] = np.moveaxis(factors, axis, 0)[:-1]
            factors = shifted
        with np.errstate(all="ignore"):
            products = np.cumprod(factors, axis, dtype=factors.dtype).astype(given.dtype)
        return [np.flip(products, axis) if a["reversed"] else products]
