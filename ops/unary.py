"""Element-wise unary operators (the standard's section "Element-wise unary operations")."""

from __future__ import annotations

from .elementwise import Elementwise
from .registry import register
from .schema import Operand
from .types import ANY, FLOATS, SIGNED


class _FloatUnary(Elementwise):
    operands = (Operand("input", FLOATS, doc="the input tensor, of any shape"),)
    section = "api-mlgraphbuilder-unary"


@register
class Abs(_FloatUnary):
    """The absolute value of each element; the most negative integer keeps its sign (two's complement)."""

    name = webnn = "abs"
    operands = (Operand("input", FLOATS | SIGNED, doc="the input tensor, of any shape"),)
    expression = "abs(input)"


@register
class Ceil(_FloatUnary):
    """Each element rounded up to an integer."""

    name = webnn = "ceil"
    expression = "ceil(input)"


@register
class Identity(_FloatUnary):
    """A copy of the input: makes an input or a constant a graph's output."""

    name = webnn = "identity"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    expression = "input"
