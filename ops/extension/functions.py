"""Elementary functions beyond the standard's."""

from __future__ import annotations

from ..elementwise import Elementwise
from ..registry import register_extension
from ..schema import Operand
from ..types import FLOATS


class _Function(Elementwise):
    operands = (Operand("input", FLOATS, doc="the input tensor, of any shape"),)


@register_extension
class Asin(_Function):
    """The inverse sine of each element, in radians; NaN outside -1 to 1."""

    name = "asin"
    expression = "asin(input)"


@register_extension
class Acos(_Function):
    """The inverse cosine of each element, in radians; NaN outside -1 to 1."""

    name = "acos"
    expression = "acos(input)"


@register_extension
class Atan(_Function):
    """The inverse tangent of each element, in radians."""

    name = "atan"
    expression = "atan(input)"


@register_extension
class Sinh(_Function):
    """The hyperbolic sine of each element."""

    name = "sinh"
    expression = "sinh(input)"


@register_extension
class Cosh(_Function):
    """The hyperbolic cosine of each element."""

    name = "cosh"
    expression = "cosh(input)"


@register_extension
class Asinh(_Function):
    """The inverse hyperbolic sine of each element."""

    name = "asinh"
    expression = "asinh(input)"


@register_extension
class Acosh(_Function):
    """The inverse hyperbolic cosine of each element; NaN below 1."""

    name = "acosh"
    expression = "acosh(input)"


@register_extension
class Atanh(_Function):
    """The inverse hyperbolic tangent of each element; NaN outside -1 to 1."""

    name = "atanh"
    expression = "atanh(input)"


@register_extension
class Trunc(_Function):
    """Each element rounded toward zero to an integer."""

    name = "trunc"
    expression = "trunc(input)"


@register_extension
class Expm1(_Function):
    """``exp(x) - 1`` of each element, without cancellation near 0."""

    name = "expm1"
    expression = "expm1(input)"


@register_extension
class Log1p(_Function):
    """``log(1 + x)`` of each element, without cancellation near 0; NaN below -1."""

    name = "log1p"
    expression = "log1p(input)"
