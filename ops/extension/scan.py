"""Cumulative operators beyond the standard's sum."""

from __future__ import annotations

import numpy as np

from ..registry import register_extension
from ..scan import Cumulative, CumulativeSum
from ..schema import Option


@register_extension
class CumulativeProduct(Cumulative):
    """The running product along an axis; integers wrap around."""

    name = "cumulative_product"
    operands = CumulativeSum.operands
    arguments = (Option("axis", CumulativeSum.arguments[0].convert, doc="the axis to multiply along"),)
    options = tuple(
        Option(o.name, o.convert, o.default, o.doc.replace("sum", "product" if o.name == "exclusive" else "multiply"))
        for o in CumulativeSum.options
    )
    neutral = 1
    accumulate = staticmethod(np.cumprod)
