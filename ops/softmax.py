"""Softmax (the standard's section "softmax")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .convert import uint
from .registry import register
from .rounding import narrow, widen
from .schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Types
from .shapes import check_axis
from .types import FLOATS, TensorType


@register
class Softmax(Operator):
    """The exponentials along an axis divided by their sum, computed without overflow."""

    name = "softmax"
    webnn = "softmax"
    section = "api-mlgraphbuilder-softmax-method"
    operands = (Operand("input", FLOATS, (1, MAX_RANK), doc="the input tensor"),)
    arguments = (Option("axis", uint, doc="the axis along which the results sum to 1"),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        check_axis(a["axis"], t.input.rank)
        return [t.input]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        data = widen(x.input)
        with np.errstate(all="ignore"):
            powers = np.exp(data - data.max(axis=a["axis"], keepdims=True, initial=-np.inf))
            return [narrow(powers / powers.sum(axis=a["axis"], keepdims=True), out[0])]
