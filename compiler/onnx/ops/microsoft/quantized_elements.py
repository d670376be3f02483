"""Quantised element-wise operators of ONNX Runtime: dequantised, computed in float32 and quantised again."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor

__all__ = ["dequantised", "quantised"]


def dequantised(n: NodeContext, place: int) -> Tensor:
    """The input at a place in float32; the scale and the zero point, 0 by default, are the inputs behind it."""
    return n.call("DequantizeLinear", n.tensor(place), _number(n, place + 1), _number(n, place + 2), version=21)


def quantised(n: NodeContext, y: Tensor, place: int, dtype: str) -> Tensor:
    """A result quantised with the scale at a place and the zero point behind it, which is 0 by default."""
    zero = _number(n, place + 1)
    return n.call("QuantizeLinear", y, _number(n, place), n.constant(0, dtype) if zero is None else zero, version=21)


def _number(n: NodeContext, place: int) -> Tensor | None:
    """A tensor of one element as a number; others, of one element a channel, as they are."""
    x = n.optional(place)
    return None if x is None else n.reshape(x, ()) if x.shape == (1,) else x


@onnx_op("QLinearAdd", 1, domain=MICROSOFT)
@onnx_op("QLinearMul", 1, domain=MICROSOFT)
def qlinear_binary(n: NodeContext) -> Tensor:
    op = {"QLinearAdd": "add", "QLinearMul": "mul"}[n.op]
    return quantised(n, n.emit(op, dequantised(n, 0), dequantised(n, 3)), 6, n.tensor(0).dtype)


@onnx_op("QLinearSigmoid", 1, domain=MICROSOFT)
def qlinear_sigmoid(n: NodeContext) -> Tensor:
    return quantised(n, n.emit("sigmoid", dequantised(n, 0)), 3, n.tensor(0).dtype)


@onnx_op("QLinearLeakyRelu", 1, domain=MICROSOFT)
def qlinear_leaky_relu(n: NodeContext) -> Tensor:
    return quantised(n, n.emit("leaky_relu", dequantised(n, 0), alpha=n.attr("alpha")), 3, n.tensor(0).dtype)


@onnx_op("QLinearSoftmax", 1, domain=MICROSOFT)
def qlinear_softmax(n: NodeContext) -> Tensor:
    y = n.call("Softmax", dequantised(n, 0), version=13 if n.attr("opset") >= 13 else 11, axis=n.attr("axis"))
    return quantised(n, y, 3, n.tensor(0).dtype)


@onnx_op("QLinearWhere", 1, domain=MICROSOFT)
def qlinear_where(n: NodeContext) -> Tensor:
    return quantised(n, n.emit("where", n.tensor(0), dequantised(n, 1), dequantised(n, 4)), 7, n.tensor(1).dtype)


@onnx_op("QLinearConcat", 1, domain=MICROSOFT)
def qlinear_concat(n: NodeContext) -> Tensor:
    """After the output's scale and zero point three inputs stand for each tensor."""
    if len(n.inputs) % 3 != 2 or len(n.inputs) < 5:
        raise n.error(f"has {len(n.inputs)} inputs, expected 2 and 3 for each tensor")
    parts = [dequantised(n, i) for i in range(2, len(n.inputs), 3)]
    return quantised(n, n.call("Concat", *parts, axis=n.attr("axis")), 0, n.tensor(1).dtype)


@onnx_op("QuantizeLinear", 1, domain=MICROSOFT)
@onnx_op("DequantizeLinear", 1, domain=MICROSOFT)
def quantize_or_dequantize(n: NodeContext) -> Tensor:
    axis = n.attr("axis", None)
    inputs = [_number(n, i) for i in range(3)]
    return n.call(n.op, *inputs, version=21, axis=1 if axis is None else axis)


@onnx_op("MulInteger", 1, domain=MICROSOFT)
def mul_integer(n: NodeContext) -> Tensor:
    factors = []
    for place in (0, 2):
        x, zero = n.emit("cast", n.tensor(place), data_type="int32"), _number(n, place + 1)
        factors.append(x if zero is None else n.emit("sub", x, n.emit("cast", zero, data_type="int32")))
    return n.emit("mul", *factors)
