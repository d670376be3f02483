"""Activations of ONNX Runtime, with the biases and residuals that its optimiser joins to them."""

from __future__ import annotations

import math

import numpy as np

from basalt.ops.dims import product

from ...errors import OnHostError
from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, wide


def _with_bias(n: NodeContext) -> Tensor:
    x, bias = n.tensor(0), n.optional(1)
    return x if bias is None else n.emit("add", x, bias)


@onnx_op("Gelu", 1, domain=MICROSOFT)
@onnx_op("BiasGelu", 1, domain=MICROSOFT)
def gelu(n: NodeContext) -> Tensor:
    return n.emit("gelu", _with_bias(n))


@onnx_op("FastGelu", 1, domain=MICROSOFT)
def fast_gelu(n: NodeContext) -> Tensor:
    """``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`` (Hendrycks and Gimpel 2016)."""
    given = _with_bias(n)
    x = convert(n, given, wide(given.dtype))
    factor = math.sqrt(2.0 / math.pi)
    inner = n.emit("mul", n.emit("mul", x, x), n.scalar(0.044715 * factor, x))
    inner = n.emit("mul", x, n.emit("add", inner, n.scalar(factor, x)))
    half = n.emit("mul", x, n.scalar(0.5, x))
    y = n.emit("mul", half, n.emit("add", n.emit("tanh", inner), n.scalar(1, x)))
    return convert(n, y, given.dtype)


@onnx_op("QuickGelu", 1, domain=MICROSOFT)
def quick_gelu(n: NodeContext) -> Tensor:
    given = n.tensor(0)
    x = convert(n, given, wide(given.dtype))
    gate = n.emit("sigmoid", n.emit("mul", x, n.scalar(n.attr("alpha"), x)))
    return convert(n, n.emit("mul", x, gate), given.dtype)


@onnx_op("BiasSplitGelu", 1, domain=MICROSOFT)
def bias_split_gelu(n: NodeContext) -> Tensor:
    x = _with_bias(n)
    last = x.rank - 1
    (size,) = n.static(x.shape[last])
    if size % 2:
        raise n.error(f"the last dimension is {size}, expected an even number")
    left, right = (n.slice(x, last, start, size // 2) for start in (0, size // 2))
    return n.emit("mul", left, n.emit("gelu", right))


@onnx_op("BiasAdd", 1, domain=MICROSOFT)
def bias_add(n: NodeContext) -> Tensor:
    return n.emit("add", _with_bias(n), n.tensor(2))


@onnx_op("BiasDropout", 1, domain=MICROSOFT)
def bias_dropout(n: NodeContext) -> tuple[Tensor, ...]:
    """Nothing is dropped; training is refused."""
    if n.given(4) and np.any(n.array(4)):
        raise n.unsupported("training_mode is true; only inference is supported")
    total = _with_bias(n)
    residual = n.optional(2)
    y = total if residual is None else n.emit("add", total, residual)
    return y, n.expand(n.constant(np.ones((), bool)), n.tensor(0).shape)


@onnx_op("BiasSoftmax", 1, domain=MICROSOFT)
def bias_softmax(n: NodeContext) -> Tensor:
    """The softmax over all dimensions from ``axis`` on; the bias lacks dimensions behind or before those it keeps."""
    x, bias = n.tensor(0), n.tensor(1)
    axis = n.axis(n.attr("axis"), x.rank)
    if bias.rank > x.rank:
        raise OnHostError
    if not n.attr("is_inner_broadcast"):
        total = n.emit("add", x, bias)
    else:
        leading = next((i for i in range(x.rank) if bias.shape[i : i + 1] != x.shape[i : i + 1]), axis)
        same_rank = bias.rank == x.rank
        missing = x.rank - bias.rank
        shape = bias.shape if same_rank else (*bias.shape[:leading], *[1] * missing, *bias.shape[leading:])
        total = n.emit("add", x, n.reshape(bias, shape))
    rows, columns = product(x.shape[:axis]), product(x.shape[axis:])
    flat = n.emit("softmax", n.reshape(total, (rows, columns)), axis=1)
    return n.reshape(flat, x.shape)
