"""Activation functions."""

from __future__ import annotations

import math
from functools import partial

from basalt.ops.shapes import broadcastable_to, same_shape, text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .precision import in_floats, in_wide_floats, is_unsigned


def _plain(n: NodeContext, op: str, *attributes: str) -> Tensor:
    """A core operator with the ONNX operator's attributes."""
    return n.emit(op, n.tensor(0), **{name: n.attr(name) for name in attributes})


onnx_op("Relu", 1, 6, 13, 14)(partial(_plain, op="relu"))
onnx_op("HardSwish", 14, 22)(partial(_plain, op="hard_swish"))
onnx_op("Softplus", 1, 22)(partial(_plain, op="softplus"))
onnx_op("Softsign", 1, 22)(partial(_plain, op="softsign"))


@onnx_op("LeakyRelu", 1, 6, 16)
def leaky_relu(n: NodeContext) -> Tensor:
    return _plain(n, "leaky_relu", "alpha")


@onnx_op("HardSigmoid", 1, 6, 22)
def hard_sigmoid(n: NodeContext) -> Tensor:
    return _plain(n, "hard_sigmoid", "alpha", "beta")


@onnx_op("Elu", 1, 6, 22)
def elu(n: NodeContext) -> Tensor:
    return _plain(n, "elu", "alpha")


@onnx_op("ThresholdedRelu", 10, 22)
def thresholded_relu(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    above = n.emit("greater", x, n.scalar(n.attr("alpha"), like=x))
    return n.emit("where", above, x, n.scalar(0, like=x))


@onnx_op("Celu", 12, 28)
def celu(n: NodeContext) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x / alpha) - 1)``, which is what the sum of the formula comes to."""
    alpha = n.attr("alpha")
    if alpha == 0:
        raise n.error("attribute alpha is 0, expected another number")

    def function(x: Tensor) -> Tensor:
        if alpha == 1:
            return n.emit("elu", x)
        factor = n.scalar(alpha, like=x)
        below = n.emit("mul", n.emit("expm1", n.emit("div", x, factor)), factor)
        return n.emit("where", n.emit("greater", x, n.scalar(0, like=x)), x, below)

    return in_wide_floats(n, function, n.tensor(0))


@onnx_op("Selu", 1, 6, 22)
def selu(n: NodeContext) -> Tensor:
    alpha, gamma = n.attr("alpha"), n.attr("gamma")
    return in_wide_floats(
        n, lambda x: n.emit("mul", n.emit("elu", x, alpha=alpha), n.scalar(gamma, like=x)), n.tensor(0)
    )


@onnx_op("PRelu", 1, 6, 7, 9, 16)
def prelu(n: NodeContext) -> Tensor:
    x, slope = n.tensor(0), n.tensor(1)
    slope = _slope_of_channels(n, x, slope) if n.version < 7 else slope
    if not broadcastable_to(slope.shape, x.shape):
        raise n.error(f"the slope has shape {text(slope.shape)}, expected one that is broadcast to {text(x.shape)}")
    return x if is_unsigned(x) else n.emit("prelu", x, slope)


def _slope_of_channels(n: NodeContext, x: Tensor, slope: Tensor) -> Tensor:
    """Before version 7 the slope is one number, one for each place of axis 1, or has the input's shape."""
    if all(d == 1 for d in slope.shape):
        return n.reshape(slope, ())
    if slope.rank == 1 and x.rank > 1:
        return n.reshape(slope, (*slope.shape, *[1] * (x.rank - 2)))
    if same_shape(slope.shape, x.shape):
        return slope
    raise n.error(f"the slope has shape {text(slope.shape)}, expected one number, or one for each of {x}'s channels")


@onnx_op("Mish", 18, 22)
def mish(n: NodeContext) -> Tensor:
    return in_wide_floats(n, lambda x: n.emit("mul", x, n.emit("tanh", n.emit("softplus", x))), n.tensor(0))


@onnx_op("Gelu", 20)
def gelu(n: NodeContext) -> Tensor:
    approximate = n.attr("approximate")
    if approximate not in ("none", "tanh"):
        raise n.error(f"attribute approximate is {approximate!r}, expected none or tanh")
    if approximate == "none":
        return n.emit("gelu", n.tensor(0))
    return in_wide_floats(n, partial(gelu_tanh, n), n.tensor(0))


def gelu_tanh(n: NodeContext, x: Tensor) -> Tensor:
    """``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))``."""

    def times(a: Tensor, factor: float | Tensor) -> Tensor:
        return n.emit("mul", a, factor if isinstance(factor, Tensor) else n.scalar(factor, like=a))

    cubic = n.emit("add", x, times(times(times(x, x), x), 0.044715))
    bent = n.emit("tanh", times(cubic, math.sqrt(2 / math.pi)))
    return times(times(x, 0.5), n.emit("add", bent, n.scalar(1, like=x)))


def swish_of(n: NodeContext, x: Tensor, alpha: float) -> Tensor:
    """``x * sigmoid(alpha * x)``."""
    scaled = x if alpha == 1 else n.emit("mul", x, n.scalar(alpha, like=x))
    return n.emit("mul", x, n.emit("sigmoid", scaled))


@onnx_op("Swish", 24)
def swish(n: NodeContext) -> Tensor:
    return in_wide_floats(n, lambda x: swish_of(n, x, n.attr("alpha")), n.tensor(0))


@onnx_op("SwiGLU", 28)
def swiglu(n: NodeContext) -> Tensor:
    gate, linear = n.tensor(0), n.tensor(1)
    if not same_shape(gate.shape, linear.shape):
        raise n.error(f"the operands have shapes {text(gate.shape)} and {text(linear.shape)}, expected equal ones")
    alpha = n.attr("alpha")
    return in_wide_floats(n, lambda a, b: n.emit("mul", swish_of(n, a, alpha), b), gate, linear)


@onnx_op("Shrink", 9)
def shrink(n: NodeContext) -> Tensor:
    lambd, bias = n.attr("lambd"), n.attr("bias")

    def function(x: Tensor) -> Tensor:
        shift = n.scalar(bias, like=x)
        low = n.emit("lesser", x, n.scalar(-lambd, like=x))
        high = n.emit("greater", x, n.scalar(lambd, like=x))
        inner = n.emit("where", high, n.emit("sub", x, shift), n.scalar(0, like=x))
        return n.emit("where", low, n.emit("add", x, shift), inner)

    return in_floats(n, function, n.tensor(0))
