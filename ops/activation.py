"""Activation functions, element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from .convert import double, nullable, number
from .elementwise import Elementwise
from .registry import register
from .schema import Attrs, Operand, Option, Output, Types, fail
from .types import ANY, FLOATS, SIGNED, TensorType, is_float


class _Activation(Elementwise):
    operands: ClassVar[tuple[Operand, ...]] = (Operand("input", FLOATS, doc="the input tensor, of any shape"),)


@register
class Clamp(_Activation):
    """Each element limited to the range ``min_value`` to ``max_value``; NaN stays NaN.

    The bounds are cast to the input's data type: an int of any size keeps its value as far as that data type holds it.
    A bound that is NaN does not limit floats, as none given.
    """

    name = webnn = "clamp"
    operands = (Operand("input", ANY, doc="the input tensor, of any shape"),)
    options = (
        Option("min_value", nullable(number), None, "the lower bound; None for none"),
        Option("max_value", nullable(number), None, "the upper bound; None for none"),
    )
    parameters = ("min_value", "max_value")
    expression = "min(max(input, min_value), max_value)"
    section = "api-mlgraphbuilder-clamp"

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        for name, unlimited in (("min_value", -math.inf), ("max_value", math.inf)):
            if a[name] is None or (is_float(t.input.dtype) and a[name] != a[name]):
                a[name] = unlimited
        outputs = super().infer(t, a)
        if a["min_value"] > a["max_value"]:
            fail(f"min_value is {a['min_value']}, greater than max_value, {a['max_value']}")
        return outputs


@register
class Elu(_Activation):
    """The exponential linear unit: ``x`` where positive, else ``alpha * (exp(x) - 1)``."""

    name = webnn = "elu"
    options = (Option("alpha", double, 1.0, "the factor of the exponential part"),)
    parameters = ("alpha",)
    expression = "select(input > 0, input, alpha * expm1(input))"
    section = "api-mlgraphbuilder-elu"


@register
class Gelu(_Activation):
    """The Gaussian error linear unit ``0.5 * x * (1 + erf(x / sqrt(2)))``."""

    name = webnn = "gelu"
    expression = "gelu(input)"
    section = "api-mlgraphbuilder-gelu-method"


@register
class HardSigmoid(_Activation):
    """``max(0, min(1, alpha * x + beta))``."""

    name = "hard_sigmoid"
    webnn = "hardSigmoid"
    options = (Option("alpha", double, 0.2, "the slope"), Option("beta", double, 0.5, "the value at 0"))
    parameters = ("alpha", "beta")
    expression = "max(min(fma(alpha, input, beta), 1), 0)"
    section = "api-mlgraphbuilder-hard-sigmoid"


@register
class HardSwish(_Activation):
    """``x * max(0, min(6, x + 3)) / 6``: 0 up to -3, ``x`` from 3 on, infinities included."""

    name = "hard_swish"
    webnn = "hardSwish"
    expression = "select(input <= -3, 0, select(input >= 3, input, input * (input + 3) / 6))"
    section = "api-mlgraphbuilder-hard-swish"


@register
class LeakyRelu(_Activation):
    """``x``, but ``alpha * x`` where it is negative."""

    name = "leaky_relu"
    webnn = "leakyRelu"
    options = (Option("alpha", double, 0.01, "the slope below 0"),)
    parameters = ("alpha",)
    expression = "select(input < 0, alpha * input, input)"
    section = "api-mlgraphbuilder-leakyrelu"


@register
class Linear(_Activation):
    """``alpha * x + beta``."""

    name = webnn = "linear"
    options = (Option("alpha", double, 1.0, "the slope"), Option("beta", double, 0.0, "the value at 0"))
    parameters = ("alpha", "beta")
    expression = "fma(alpha, input, beta)"
    section = "api-mlgraphbuilder-linear"


@register
class Prelu(_Activation):
    """``x``, but ``slope * x`` where it is negative; integers wrap around."""

    name = webnn = "prelu"
    operands = (
        Operand("input", FLOATS | SIGNED, doc="the input tensor, of any shape"),
        Operand("slope", "input", doc="the slope below 0, of the input's data type; both are broadcast to each other"),
    )
    outputs = (Output(rank=(0, 8)),)
    expression = "select(input < 0, slope * input, input)"
    section = "api-mlgraphbuilder-prelu"


@register
class Relu(_Activation):
    """``max(0, x)``; NaN stays NaN."""

    name = webnn = "relu"
    operands = (Operand("input", FLOATS | SIGNED, doc="the input tensor, of any shape"),)
    expression = "max(input, 0)"
    section = "api-mlgraphbuilder-relu-method"


@register
class Sigmoid(_Activation):
    """The logistic function ``1 / (1 + exp(-x))``."""

    name = webnn = "sigmoid"
    expression = "sigmoid(input)"
    section = "api-mlgraphbuilder-sigmoid-method"


@register
class Softplus(_Activation):
    """``log(1 + exp(x))``, without overflow for large ``x``."""

    name = webnn = "softplus"
    expression = "softplus(input)"
    section = "api-mlgraphbuilder-softplus-method"


@register
class Softsign(_Activation):
    """``x / (1 + abs(x))``; NaN for infinities, as the formula gives."""

    name = webnn = "softsign"
    expression = "input / (1 + abs(input))"
    section = "api-mlgraphbuilder-softsign-method"


@register
class Tanh(_Activation):
    """The hyperbolic tangent of each element."""

    name = webnn = "tanh"
    expression = "tanh(input)"
    section = "api-mlgraphbuilder-tanh-method"
