"""Activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...onnx.tensor import Tensor, onnx_dtype
from ..context import AtenContext
from ..registry import aten
from .pointwise import both


@aten("relu.default")
def relu(n: AtenContext, x: Tensor) -> Tensor:
    return n.call("Relu", x)


@aten("relu6.default")
def relu6(n: AtenContext, x: Tensor) -> Tensor:
    return n.emit("clamp", x, min_value=0.0, max_value=6.0)


@aten("hardtanh.default")
def hardtanh(n: AtenContext, x: Tensor, low: float = -1, high: float = 1) -> Tensor:
    return n.call("Clip", x, n.tensor_of(low, x.dtype), n.tensor_of(high, x.dtype))


@aten("silu.default")
def silu(n: AtenContext, x: Tensor) -> Tensor:
    return n.call("Swish", x)


@aten("gelu.default")
def gelu(n: AtenContext, x: Tensor, approximate: str = "none") -> Tensor:
    return n.call("Gelu", x, approximate=approximate)


@aten("elu.default")
def elu(n: AtenContext, x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    scaled = x if input_scale == 1 else n.emit("mul", x, n.scalar(input_scale, x))
    y: Tensor = n.call("Elu", scaled, alpha=float(alpha))
    if input_scale != 1:
        y = n.emit("where", n.emit("greater", x, n.scalar(0, x), dtype="bool"), x, y)
    return y if scale == 1 else n.emit("mul", y, n.scalar(scale, y))


@aten("selu.default")
def selu(n: AtenContext, x: Tensor) -> Tensor:
    # ONNX's Selu has its coefficients in single precision.
    y: Tensor = n.call("Elu", x, alpha=1.6732632423543772848170429916717)
    return n.emit("mul", y, n.scalar(1.0507009873554804934193349852946, y))


@aten("celu.default")
def celu(n: AtenContext, x: Tensor, alpha: float = 1.0) -> Tensor:
    return n.call("Celu", x, alpha=float(alpha))


@aten("leaky_relu.default")
def leaky_relu(n: AtenContext, x: Tensor, slope: float = 0.01) -> Tensor:
    return n.call("LeakyRelu", x, alpha=float(slope))


@aten("rrelu_with_noise_functional.default")
def rrelu(
    n: AtenContext, x: Tensor, noise: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> tuple[Tensor, ...]:
    if training:
        raise n.unsupported("random slopes while training")
    return leaky_relu(n, x, (lower + upper) / 2), noise


@aten("prelu.default", "_prelu_kernel.default")
def prelu(n: AtenContext, x: Tensor, weight: Tensor) -> Tensor:
    if weight.rank == 1 and x.rank > 1:
        weight = n.reshape(weight, (weight.shape[0], *[1] * (x.rank - 2)))
    return n.call("PRelu", x, weight)


@aten("softplus.default")
def softplus(n: AtenContext, x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    scaled = x if beta == 1 else n.emit("mul", x, n.scalar(beta, x))
    y: Tensor = n.call("Softplus", scaled)
    y = y if beta == 1 else n.emit("div", y, n.scalar(beta, y))
    # Beyond the threshold the function is the identity, from which softplus differs by less than exp(-threshold).
    if threshold >= 20:
        return y
    return n.emit("where", n.emit("greater", scaled, n.scalar(threshold, x), dtype="bool"), x, y)


@aten("hardswish.default")
def hardswish(n: AtenContext, x: Tensor) -> Tensor:
    return n.call("HardSwish", x)


@aten("hardsigmoid.default")
def hardsigmoid(n: AtenContext, x: Tensor) -> Tensor:
    return n.call("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@aten("mish.default")
def mish(n: AtenContext, x: Tensor) -> Tensor:
    return n.call("Mish", x)


@aten("log_sigmoid.default")
def log_sigmoid(n: AtenContext, x: Tensor) -> Tensor:
    return n.emit("neg", n.call("Softplus", n.emit("neg", x)))


@aten("log_sigmoid_forward.default")
def log_sigmoid_forward(n: AtenContext, x: Tensor) -> tuple[Tensor | None, ...]:
    return log_sigmoid(n, x), None


@aten("softshrink.default")
def softshrink(n: AtenContext, x: Tensor, lambd: float = 0.5) -> Tensor:
    return n.call("Shrink", x, lambd=float(lambd), bias=float(lambd))


@aten("hardshrink.default")
def hardshrink(n: AtenContext, x: Tensor, lambd: float = 0.5) -> Tensor:
    return n.call("Shrink", x, lambd=float(lambd), bias=0.0)


@aten("threshold.default")
def threshold(n: AtenContext, x: Tensor, limit: float, value: float) -> Tensor:
    below = n.emit("lesser_or_equal", x, n.tensor_of(limit, x.dtype), dtype="bool")
    return n.emit("where", below, n.tensor_of(value, x.dtype), x)


@aten("glu.default")
def glu(n: AtenContext, x: Tensor, dim: int = -1) -> Tensor:
    axis = n.dim(dim, x.rank)
    a, b = n.emit_all("split", x, splits=2, axis=axis)
    return n.emit("mul", a, n.emit("sigmoid", b))


@aten("softmax.int", "_softmax.default", "_safe_softmax.default")
def softmax(n: AtenContext, x: Tensor, dim: int, half_to_float: Any = None, dtype: Any = None) -> Tensor:
    x = n.cast(x, n.dtype)
    y: Tensor = n.call("Softmax", x, axis=n.dim(dim, x.rank)) if x.rank else n.filled(1.0)
    if n.op != "aten::_safe_softmax.default":
        return y
    lowest = n.emit("reduce_max", x, axes=(n.dim(dim, x.rank),), keep_dimensions=True)
    masked = n.emit("equal", lowest, n.scalar(-math.inf, x), dtype="bool")
    return n.emit("where", masked, n.constant(np.zeros((), onnx_dtype(y.dtype))), y)


@aten("log_softmax.int", "_log_softmax.default")
def log_softmax(n: AtenContext, x: Tensor, dim: int, half_to_float: Any = None, dtype: Any = None) -> Tensor:
    x = n.cast(x, n.dtype)
    return n.call("LogSoftmax", x, axis=n.dim(dim, x.rank)) if x.rank else n.filled(0.0)


@aten("atan2.default")
def atan2(n: AtenContext, y: Tensor, x: Tensor) -> Tensor:
    y, x = both(n, y, x)
    zero, pi = n.scalar(0.0, x), n.scalar(math.pi, x)
    angle = n.emit("atan", n.emit("div", y, x))
    up = n.emit("greater_or_equal", y, zero, dtype="bool")
    turned = n.emit("add", angle, n.emit("where", up, pi, n.emit("neg", pi)))
    angle = n.emit("where", n.emit("lesser", x, zero, dtype="bool"), turned, angle)
    both_zero = n.call("And", *[n.emit("equal", t, zero, dtype="bool") for t in (x, y)])
    return n.emit("where", both_zero, n.emit("mul", y, zero), angle)
