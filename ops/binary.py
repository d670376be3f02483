"""Element-wise binary operators (the standard's section "Element-wise binary operations")."""

from __future__ import annotations

from .elementwise import Elementwise
from .registry import register
from .schema import Operand, Output
from .types import ANY


class _Binary(Elementwise):
    operands = (
        Operand("a", ANY, doc="the first operand, of any shape"),
        Operand("b", "a", doc="the second operand, of the data type of ``a``; both are broadcast to each other"),
    )
    outputs = (Output(dtypes="a", rank=(0, 8)),)
    section = "api-mlgraphbuilder-binary"


@register
class Add(_Binary):
    """The sum of ``a`` and ``b``, element by element; integers wrap around."""

    name = webnn = "add"
    expression = "a + b"


@register
class Sub(_Binary):
    """The difference ``a - b``, element by element; integers wrap around."""

    name = webnn = "sub"
    expression = "a - b"


@register
class Mul(_Binary):
    """The product of ``a`` and ``b``, element by element; integers wrap around."""

    name = webnn = "mul"
    expression = "a * b"


@register
class Div(_Binary):
    """The quotient ``a / b``, element by element.

    Integer quotients are truncated toward zero. An integer divided by 0 gives 0, and the most negative integer divided
    by -1 gives itself: the standard leaves both open.
    """

    name = webnn = "div"
    expression = "a / b"


@register
class Max(_Binary):
    """The greater of ``a`` and ``b``, element by element; NaN if either is NaN."""

    name = webnn = "max"
    expression = "max(a, b)"


@register
class Min(_Binary):
    """The lesser of ``a`` and ``b``, element by element; NaN if either is NaN."""

    name = webnn = "min"
    expression = "min(a, b)"


@register
class Pow(_Binary):
    """``a`` to the power of ``b``, element by element.

    Integer powers wrap around; a negative integer exponent gives the reciprocal truncated toward zero, which is 0
    unless the base is 1 or -1 (0 to a negative power gives 0).
    """

    name = webnn = "pow"
    expression = "pow(a, b)"
