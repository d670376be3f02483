"""Casting between data types."""

from __future__ import annotations

from .convert import data_type
from .elementwise import Elementwise
from .registry import register
from .schema import Attrs, Operand, Option, Output, Types
from .types import ANY


@register
class Cast(Elementwise):
    """Each element converted to another data type.

    To a float: the nearest value, to even if halfway; an infinity beyond the range. Between integers: the value modulo
    2 to the number of bits. From a float to an integer: truncated toward zero; beyond the range, which the standard
    leaves open, the nearest end of it, and 0 for NaN.
    """

    name = webnn = "cast"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    arguments = (Option("data_type", data_type, doc="the output's data type"),)
    outputs = (Output(dtypes=ANY),)
    expression = "to(input, output)"
    section = "api-mlgraphbuilder-cast"

    def output_dtype(self, t: Types, a: Attrs) -> str:
        return str(a["data_type"])
