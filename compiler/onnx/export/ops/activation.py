"""Activation functions. ONNX's attributes are float32: where that would change a number, or where ONNX Runtime lacks
float64, the function is composed."""

from __future__ import annotations

import math

import numpy as np

from basalt.ops.types import is_float

from ..node import NodeWriter, largest_finite
from ..registry import exports
from ..tensor import Tensor
from .unary import expm1_of, log1p_of


def fits(*numbers: float) -> bool:
    """Whether float32 attributes hold these numbers exactly."""
    with np.errstate(over="ignore"):
        return all(float(np.float32(v)) == v for v in numbers)


@exports("clamp")
def clamp(n: NodeWriter) -> Tensor:
    """Both bounds are always given: ONNX Runtime takes an absent one for the largest finite number."""
    x, low, high = n["input"], n.attrs["min_value"], n.attrs["max_value"]
    if is_float(x.dtype) and (low, high) == (-math.inf, math.inf):
        return n.call("Identity", x)
    return n.call("Clip", x, n.scalar(low, x.dtype), n.scalar(high, x.dtype))


@exports("elu")
def elu(n: NodeWriter) -> Tensor:
    x, alpha = n["input"], n.attrs["alpha"]
    if x.dtype != "float64" and fits(alpha):
        return n.call("Elu", x, alpha=float(alpha))
    x = n.widened(x)
    # The other branch must not overflow: infinity times 0 would be NaN.
    below = n.call("Mul", expm1_of(n, n.call("Min", x, n.scalar(0.0, x.dtype))), n.scalar(alpha, x.dtype))
    return n.where(n.call("Greater", x, n.scalar(0.0, x.dtype)), x, below)


@exports("gelu")
def gelu(n: NodeWriter) -> Tensor:
    x = bounded_below(n, n["input"])
    if n.runs("Gelu", x.dtype):
        return n.call("Gelu", x)
    x = n.widened(x)
    scaled = n.call("Erf", n.call("Div", x, n.scalar(math.sqrt(2.0), x.dtype)))
    half = n.call("Mul", x, n.call("Add", scaled, n.scalar(1.0, x.dtype)))
    return n.call("Mul", half, n.scalar(0.5, x.dtype))


def bounded_below(n: NodeWriter, x: Tensor) -> Tensor:
    """Negative infinity replaced by the lowest finite number: ``x * g(x)`` is then 0 and not NaN where g(x) is 0."""
    return n.call("Max", x, n.scalar(-largest_finite(x.dtype), x.dtype))


@exports("hard_sigmoid")
def hard_sigmoid(n: NodeWriter) -> Tensor:
    x, alpha, beta = n["input"], n.attrs["alpha"], n.attrs["beta"]
    if x.dtype != "float64" and fits(alpha, beta):
        return n.call("HardSigmoid", x, alpha=float(alpha), beta=float(beta))
    return n.call("Clip", line(n, n.widened(x), alpha, beta), *(n.scalar(v, n.widened(x).dtype) for v in (0.0, 1.0)))


def line(n: NodeWriter, x: Tensor, alpha: float, beta: float) -> Tensor:
    """``alpha * x + beta``."""
    if alpha != 1.0:
        x = n.call("Mul", x, n.scalar(alpha, x.dtype))
    return n.call("Add", x, n.scalar(beta, x.dtype)) if beta != 0.0 else x


@exports("hard_swish")
def hard_swish(n: NodeWriter) -> Tensor:
    x = bounded_below(n, n["input"])
    if x.dtype != "float64":
        return n.call("HardSwish", x)
    gate = n.call("Clip", line(n, x, 1.0, 3.0), n.scalar(0.0, x.dtype), n.scalar(6.0, x.dtype))
    return n.call("Mul", x, n.call("Div", gate, n.scalar(6.0, x.dtype)))


@exports("leaky_relu")
def leaky_relu(n: NodeWriter) -> Tensor:
    x, alpha = n["input"], n.attrs["alpha"]
    if x.dtype != "float64" and fits(alpha):
        return n.call("LeakyRelu", x, alpha=float(alpha))
    x = n.widened(x)
    return _below_zero(n, x, n.scalar(alpha, x.dtype))


def _below_zero(n: NodeWriter, x: Tensor, slope: Tensor) -> Tensor:
    return n.where(n.call("Less", x, n.scalar(0, x.dtype)), n.call("Mul", slope, x), x)


@exports("linear")
def linear(n: NodeWriter) -> Tensor:
    x = n.widened(n["input"])
    result = line(n, x, n.attrs["alpha"], n.attrs["beta"])
    return n.call("Identity", x) if result is x else result


@exports("prelu")
def prelu(n: NodeWriter) -> Tensor:
    """ONNX broadcasts the slope to the input, the core both to each other."""
    x, slope = n["input"], n["slope"]
    if is_float(x.dtype) and x.dtype != "float64" and n.out[0].shape == n.type("input").shape:
        return n.call("PRelu", x, slope)
    return _below_zero(n, n.widened(x), n.widened(slope))


@exports("relu")
def relu(n: NodeWriter) -> Tensor:
    """Integers by Max: ONNX Runtime cannot load a Clip behind a Relu of integers."""
    x = n["input"]
    return n.call("Relu", x) if is_float(x.dtype) else n.call("Max", x, n.scalar(0, x.dtype))


@exports("softplus")
def softplus(n: NodeWriter) -> Tensor:
    x = n["input"]
    if x.dtype != "float64":
        return n.call("Softplus", x)
    tail = log1p_of(n, n.call("Exp", n.call("Neg", n.call("Abs", x))))
    return n.call("Add", n.call("Max", x, n.scalar(0.0, x.dtype)), tail)


@exports("softsign")
def softsign(n: NodeWriter) -> Tensor:
    x = n["input"]
    if x.dtype != "float64":
        return n.call("Softsign", x)
    return n.call("Div", x, n.call("Add", n.call("Abs", x), n.scalar(1.0, x.dtype)))
