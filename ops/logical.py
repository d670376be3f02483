"""Element-wise comparisons and logical operators (the standard's section "Element-wise logical operations")."""

from __future__ import annotations

from .elementwise import Elementwise
from .registry import register
from .schema import Attrs, Operand, Output, Types
from .types import ANY, FLOATS

_BOOLEAN = frozenset({"uint8"})


class _Logical(Elementwise):
    outputs = (Output(dtypes=_BOOLEAN, rank=(0, 8), doc="1 where true, 0 where false, uint8"),)
    section = "api-mlgraphbuilder-logical"

    def output_dtype(self, t: Types, a: Attrs) -> str:
        return "uint8"


class _Comparison(_Logical):
    operands = (
        Operand("a", ANY, doc="the first operand, of any shape"),
        Operand("b", "a", doc="the second operand, of the data type of ``a``; both are broadcast to each other"),
    )


class _Connective(_Logical):
    operands = (
        Operand("a", _BOOLEAN, doc="the first operand, of any shape; each value but 0 is true"),
        Operand("b", "a", doc="the second operand, of the data type of ``a``; both are broadcast to each other"),
    )


class _Test(_Logical):
    # The standard's table of limits allows every data type, its method steps floats alone: the steps are followed.
    operands = (Operand("a", FLOATS, doc="the input tensor, of any shape"),)


@register
class Equal(_Comparison):
    """Whether ``a`` equals ``b``, element by element; NaN equals nothing."""

    name = webnn = "equal"
    expression = "a == b"


@register
class NotEqual(_Comparison):
    """Whether ``a`` differs from ``b``, element by element; NaN differs from everything."""

    name = "not_equal"
    webnn = "notEqual"
    expression = "a != b"


@register
class Greater(_Comparison):
    """Whether ``a`` is greater than ``b``, element by element; false where either is NaN."""

    name = webnn = "greater"
    expression = "a > b"


@register
class GreaterOrEqual(_Comparison):
    """Whether ``a`` is at least ``b``, element by element; false where either is NaN."""

    name = "greater_or_equal"
    webnn = "greaterOrEqual"
    expression = "a >= b"


@register
class Lesser(_Comparison):
    """Whether ``a`` is less than ``b``, element by element; false where either is NaN."""

    name = webnn = "lesser"
    expression = "a < b"


@register
class LesserOrEqual(_Comparison):
    """Whether ``a`` is at most ``b``, element by element; false where either is NaN."""

    name = "lesser_or_equal"
    webnn = "lesserOrEqual"
    expression = "a <= b"


@register
class LogicalNot(_Logical):
    """1 where ``a`` is 0, else 0."""

    name = "logical_not"
    webnn = "logicalNot"
    operands = (Operand("a", _BOOLEAN, doc="the input tensor, of any shape; each value but 0 is true"),)
    expression = "lnot(a)"


@register
class LogicalAnd(_Connective):
    """1 where both ``a`` and ``b`` are true, else 0."""

    name = "logical_and"
    webnn = "logicalAnd"
    expression = "land(a, b)"


@register
class LogicalOr(_Connective):
    """1 where ``a`` or ``b`` is true, else 0."""

    name = "logical_or"
    webnn = "logicalOr"
    expression = "lor(a, b)"


@register
class LogicalXor(_Connective):
    """1 where exactly one of ``a`` and ``b`` is true, else 0."""

    name = "logical_xor"
    webnn = "logicalXor"
    expression = "lxor(a, b)"


@register
class IsNan(_Test):
    """1 where ``a`` is NaN, else 0."""

    name = "is_nan"
    webnn = "isNaN"
    expression = "isnan(a)"


@register
class IsInfinite(_Test):
    """1 where ``a`` is an infinity of either sign, else 0."""

    name = "is_infinite"
    webnn = "isInfinite"
    expression = "isinf(a)"
