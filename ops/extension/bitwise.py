"""Operators on the bits of integers."""

from __future__ import annotations

from ..elementwise import Elementwise
from ..registry import register_extension
from ..schema import Operand, Output
from ..types import INTS


class _Bitwise(Elementwise):
    operands = (
        Operand("a", INTS, doc="the first operand, of any shape"),
        Operand("b", "a", doc="the second operand, of the data type of ``a``; both are broadcast to each other"),
    )
    outputs = (Output(dtypes="a", rank=(0, 8)),)


@register_extension
class BitwiseAnd(_Bitwise):
    """The bits that are set in both ``a`` and ``b``, element by element."""

    name = "bitwise_and"
    expression = "bitand(a, b)"


@register_extension
class BitwiseOr(_Bitwise):
    """The bits that are set in ``a`` or in ``b``, element by element."""

    name = "bitwise_or"
    expression = "bitor(a, b)"


@register_extension
class BitwiseXor(_Bitwise):
    """The bits that are set in one of ``a`` and ``b`` but not in both, element by element."""

    name = "bitwise_xor"
    expression = "bitxor(a, b)"


@register_extension
class BitwiseNot(Elementwise):
    """The bits that are not set in each element (for signed integers, ``-x - 1``)."""

    name = "bitwise_not"
    operands = (Operand("input", INTS, doc="the input tensor, of any shape"),)
    expression = "bitnot(input)"


@register_extension
class ShiftLeft(_Bitwise):
    """``a`` shifted left by ``b`` bits, element by element.

    Where ``b`` is negative or at least the width of ``a``, every bit is shifted out, which leaves 0.
    """

    name = "shift_left"
    expression = "shl(a, b)"


@register_extension
class ShiftRight(_Bitwise):
    """``a`` shifted right by ``b`` bits, element by element: a signed integer keeps its sign.

    Where ``b`` is negative or at least the width of ``a``, every bit is shifted out: 0, or -1 for a negative ``a``.
    """

    name = "shift_right"
    expression = "shr(a, b)"
