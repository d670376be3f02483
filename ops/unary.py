"""Element-wise unary operators (the standard's section "Element-wise unary operations")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .elementwise import Elementwise
from .registry import register
from .schema import Arrays, Attrs, Operand
from .types import ANY, FLOATS, SIGNED, TensorType


class _FloatUnary(Elementwise):
    operands = (Operand("input", FLOATS, doc="the input tensor, of any shape"),)
    section = "api-mlgraphbuilder-unary"


class _SignedUnary(_FloatUnary):
    operands = (Operand("input", FLOATS | SIGNED, doc="the input tensor, of any shape"),)


@register
class Abs(_SignedUnary):
    """The absolute value of each element; the most negative integer keeps its sign (two's complement)."""

    name = webnn = "abs"
    expression = "abs(input)"


@register
class Ceil(_FloatUnary):
    """Each element rounded up to an integer."""

    name = webnn = "ceil"
    expression = "ceil(input)"


@register
class Cos(_FloatUnary):
    """The cosine of each element, in radians; NaN for infinities."""

    name = webnn = "cos"
    expression = "cos(input)"


@register
class Erf(_FloatUnary):
    """The error function of each element."""

    name = webnn = "erf"
    expression = "erf(input)"


@register
class Exp(_FloatUnary):
    """The exponential of each element."""

    name = webnn = "exp"
    expression = "exp(input)"


@register
class Floor(_FloatUnary):
    """Each element rounded down to an integer."""

    name = webnn = "floor"
    expression = "floor(input)"


@register
class Identity(_FloatUnary):
    """A copy of the input: makes an input or a constant a graph's output."""

    name = webnn = "identity"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    expression = "input"

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [np.asarray(x.input)]


@register
class Log(_FloatUnary):
    """The natural logarithm of each element: -infinity for 0, NaN for negative numbers."""

    name = webnn = "log"
    expression = "log(input)"


@register
class Neg(_SignedUnary):
    """Each element negated; the most negative integer stays as it is (two's complement)."""

    name = webnn = "neg"
    expression = "-input"


@register
class Reciprocal(_FloatUnary):
    """One divided by each element: an infinity for a zero, of its sign."""

    name = webnn = "reciprocal"
    expression = "rcp(input)"


@register
class RoundEven(_FloatUnary):
    """Each element rounded to the nearest integer, halves to the even one."""

    name = "round_even"
    webnn = "roundEven"
    expression = "rint(input)"


@register
class Sin(_FloatUnary):
    """The sine of each element, in radians; NaN for infinities."""

    name = webnn = "sin"
    expression = "sin(input)"


@register
class Sign(_SignedUnary):
    """1 for each positive element, -1 for each negative one, 0 for others: zeros and, as the standard says, NaN."""

    name = webnn = "sign"
    expression = "select(input > 0, 1, select(input < 0, -1, 0))"


@register
class Sqrt(_FloatUnary):
    """The square root of each element; NaN for negative numbers."""

    name = webnn = "sqrt"
    expression = "sqrt(input)"


@register
class Tan(_FloatUnary):
    """The tangent of each element, in radians; NaN for infinities."""

    name = webnn = "tan"
    expression = "tan(input)"
