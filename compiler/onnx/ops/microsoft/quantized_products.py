"""Quantised matrix products and convolutions of ONNX Runtime."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert
from .attention import merged_attention
from .quantized_elements import quantised
from .quantized_pools import channels_first


def _integer_product(
    n: NodeContext, a: Tensor, b: Tensor, a_zero: Tensor | None, b_zero: Tensor | None, scales: tuple[Tensor, Tensor]
) -> Tensor:
    """The product of dequantised matrices, summed up in integers and scaled once, in float32."""
    total = n.call("MatMulInteger", a, b, _single(n, a_zero), _single(n, b_zero))
    left, right = (_single(n, convert(n, s, "float32")) for s in scales)
    return n.emit("mul", convert(n, total, "float32"), n.emit("mul", left, right))


def _single(n: NodeContext, x: Tensor | None) -> Tensor | None:
    """A tensor of one element as a number."""
    return n.reshape(x, ()) if x is not None and x.shape == (1,) else x


def _plus(n: NodeContext, y: Tensor, bias: Tensor | None) -> Tensor:
    return y if bias is None else n.emit("add", y, convert(n, bias, y.dtype))


@onnx_op("MatMulIntegerToFloat", 1, domain=MICROSOFT)
def matmul_integer_to_float(n: NodeContext) -> Tensor:
    scales = (n.tensor(2), n.tensor(3))
    product = _integer_product(n, n.tensor(0), n.tensor(1), n.optional(4), n.optional(5), scales)
    return convert(n, _plus(n, product, n.optional(6)), scales[0].dtype)


@onnx_op("DynamicQuantizeMatMul", 1, domain=MICROSOFT)
def dynamic_quantize_matmul(n: NodeContext) -> Tensor:
    a, scale, zero = n.call("DynamicQuantizeLinear", n.tensor(0), outputs=3)
    product = _integer_product(n, a, n.tensor(1), zero, n.optional(3), (scale, n.tensor(2)))
    return _plus(n, product, n.optional(4))


@onnx_op("MatMulInteger16", 1, domain=MICROSOFT)
def matmul_integer_16(n: NodeContext) -> Tensor:
    """Products of 16 bits and their sums are exact in float64; beyond 32 bits they wrap around."""
    a, b = (convert(n, n.tensor(i), "float64") for i in (0, 1))
    unsigned = n.tensor(0).dtype == n.tensor(1).dtype == "uint16"
    return convert(n, convert(n, n.call("MatMul", a, b), "int64"), "uint32" if unsigned else "int32")


@onnx_op("QGemm", 1, domain=MICROSOFT)
def qgemm(n: NodeContext) -> Tensor:
    a, b = n.tensor(0), n.tensor(3)
    if a.rank != 2 or b.rank != 2:
        raise n.error(f"A is {a}, B {b}; expected rank 2")
    if n.attr("transA"):
        a = n.transpose(a, (1, 0))
    if n.attr("transB"):
        b = n.transpose(b, (1, 0))
    total = n.call("MatMulInteger", a, b, _single(n, n.tensor(2)), _single(n, n.tensor(5)))
    if n.given(6):
        total = n.emit("add", total, n.tensor(6))
    left, right = _single(n, n.tensor(1)), _single(n, n.tensor(4))
    factor = n.emit("mul", n.emit("mul", left, right), n.scalar(n.attr("alpha"), "float32"))
    y = n.emit("mul", convert(n, total, "float32"), factor)
    return quantised(n, y, 7, n.tensor(8).dtype if n.given(8) else n.tensor(0).dtype) if n.given(7) else y


@onnx_op("QAttention", 1, domain=MICROSOFT)
def qattention(n: NodeContext) -> tuple[Tensor, ...]:
    scales = (n.tensor(3), n.tensor(4))
    merged = _integer_product(n, n.tensor(0), n.tensor(1), n.optional(6), n.optional(7), scales)
    merged = _plus(n, merged, n.tensor(2))
    y, present = merged_attention(n, merged, n.optional(5), n.optional(8), None)
    return convert(n, y, scales[0].dtype), convert(n, present, scales[0].dtype)


@onnx_op("QLinearConv", 1, domain=MICROSOFT)
def qlinear_conv(n: NodeContext) -> Tensor:
    """The standard's operator, whose channels may come last."""
    names = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    given = {name: n.attributes[name] for name in names if n.has(name)}
    rest = n.inputs[1:]
    last = bool(n.attr("channels_last"))
    return channels_first(n, n.tensor(0), last, lambda x: n.call("QLinearConv", x, *rest, **given))
