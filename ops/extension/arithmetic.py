"""Remainders of divisions."""

from __future__ import annotations

from ..elementwise import Elementwise
from ..registry import register_extension
from ..schema import Operand, Output
from ..types import ANY


class _Remainder(Elementwise):
    operands = (
        Operand("a", ANY, doc="the dividend, of any shape"),
        Operand("b", "a", doc="the divisor, of the data type of ``a``; both are broadcast to each other"),
    )
    outputs = (Output(dtypes="a", rank=(0, 8)),)


@register_extension
class Mod(_Remainder):
    """``a - b * floor(a / b)``, element by element: the remainder that has the sign of the divisor.

    An integer divided by 0 gives 0; a float divided by 0, and an infinite dividend, give NaN.
    """

    name = "mod"
    expression = "mod(a, b)"


@register_extension
class Fmod(_Remainder):
    """``a - b * trunc(a / b)``, element by element: the remainder that has the sign of the dividend (C's ``fmod``).

    An integer divided by 0 gives 0; a float divided by 0, and an infinite dividend, give NaN.
    """

    name = "fmod"
    expression = "a % b"
