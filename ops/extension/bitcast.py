"""The bits of elements read as another data type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import data_type
from ..registry import register_extension
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..types import ANY, TensorType, numpy_dtype


@register_extension
class Bitcast(Operator):
    """Each element's bits as a number of another data type, which must have as many."""

    name = "bitcast"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    arguments = (Option("data_type", data_type, doc="the output's data type"),)
    outputs = (Output(dtypes=ANY),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        given, wanted = numpy_dtype(t.input.dtype), numpy_dtype(a["data_type"])
        if given.itemsize != wanted.itemsize:
            fail(f"{a['data_type']} has {wanted.itemsize} bytes, expected as many as {t.input.dtype}, {given.itemsize}")
        return [TensorType(a["data_type"], t.input.shape)]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.asarray(x.input).view(numpy_dtype(a["data_type"]))]
