"""Products of quantised tensors: MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv."""

from __future__ import annotations

from collections.abc import Sequence

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .convolution import convolve, planar, spatial_sizes
from .products import as_matrices
from .quantization import is_zero
from .windows import Window, groups_of, kernel_of, windows_of

_BYTES = ("int8", "uint8")


@onnx_op("MatMulInteger", 10)
def matmul_integer(n: NodeContext) -> Tensor:
    return _integer_matmul(n, n.tensor(0), n.tensor(1), n.optional(2), n.optional(3))


def _integer_matmul(
    n: NodeContext, a: Tensor, b: Tensor, a_zero_point: Tensor | None, b_zero_point: Tensor | None
) -> Tensor:
    return as_matrices(n, a, b, lambda x, y: n.emit("matmul_integer", x, y, a_zero_point, b_zero_point))


@onnx_op("ConvInteger", 10)
def conv_integer(n: NodeContext) -> Tensor:
    return _integer_conv(n, n.tensor(0), n.tensor(1), n.optional(2), n.optional(3))


def _integer_conv(
    n: NodeContext, x: Tensor, weight: Tensor, x_zero_point: Tensor | None, weight_zero_point: Tensor | None
) -> Tensor:
    """The convolution of the differences to the zero points, in int32; padding adds nothing."""
    windows = windows_of(n, spatial_sizes(n, x), kernel_of(n, weight.shape[2:]))

    def planar_conv(image: Tensor, kernel: Tensor, pair: Sequence[Window]) -> Tensor:
        attrs = {**planar(pair), "groups": groups_of(n)}
        return n.emit("conv_integer", image, kernel, x_zero_point, weight_zero_point, **attrs)

    return convolve(n, x, weight, windows, planar_conv, x_zero_point)


@onnx_op("QLinearMatMul", 10, 21)
def qlinear_matmul(n: NodeContext) -> Tensor:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = n.tensors()
    if a.dtype in _BYTES and b.dtype in _BYTES:
        product = _integer_matmul(n, a, b, a_zero, b_zero)
    else:
        # Floats of 8 bits, perhaps beside integers.
        rows, columns = _along_lines(n, _single(n, a_zero), rows=True), _single(n, b_zero)
        product = as_matrices(n, _centred(n, a, rows), _centred(n, b, columns), lambda x, y: n.emit("matmul", x, y))
    left = _along_lines(n, _single(n, a_scale), rows=True)
    right = _along_lines(n, _single(n, b_scale), rows=False)
    scales = [n.cast(s, "float32") for s in (left, right, _along_lines(n, _single(n, y_scale), rows=False))]
    return _requantized(n, product, scales, _along_lines(n, _single(n, y_zero), rows=False))


def _centred(n: NodeContext, x: Tensor, zero: Tensor) -> Tensor:
    """The difference to a zero point, in float32."""
    return n.emit("sub", n.cast(x, "float32"), n.cast(zero, "float32"))


def _along_lines(n: NodeContext, x: Tensor, rows: bool) -> Tensor:
    """A vector with one element for each row (or column) so that it can be broadcast to a matrix."""
    return n.reshape(x, (x.shape[0], 1)) if rows and x.rank == 1 else x


def _single(n: NodeContext, x: Tensor) -> Tensor:
    """A tensor of one element as a number."""
    return n.reshape(x, ()) if x.shape == (1,) else x


@onnx_op("QLinearConv", 10)
def qlinear_conv(n: NodeContext) -> Tensor:
    x, x_scale, x_zero, weight, weight_scale, weight_zero, y_scale, y_zero = (n.tensor(i) for i in range(8))
    product = _integer_conv(n, x, weight, x_zero, weight_zero)
    per_channel = (weight.shape[0], *[1] * (x.rank - 2))
    bias = n.optional(8)
    if bias is not None:
        product = n.emit("add", product, n.reshape(bias, per_channel))
    factor = _single(n, weight_scale)
    if factor.rank:
        factor = n.reshape(factor, per_channel)
    return _requantized(n, product, [_single(n, x_scale), factor, _single(n, y_scale)], _single(n, y_zero))


def _requantized(n: NodeContext, product: Tensor, scales: Sequence[Tensor], zero: Tensor) -> Tensor:
    """``saturate(round(product * (x_scale * w_scale / y_scale)) + zero)``, in float32 as ONNX Runtime computes it.

    A result of floats of 8 bits is rounded once, after the sum.
    """
    x_scale, w_scale, y_scale = scales
    factor = n.emit("div", n.emit("mul", x_scale, w_scale), y_scale)
    value = n.emit("mul", n.cast(product, "float32"), factor)
    if zero.dtype not in _BYTES:
        return n.cast(value if is_zero(zero) else n.emit("add", value, n.cast(zero, "float32")), zero.dtype)
    steps = n.emit("round_even", value)
    return n.emit("cast", n.emit("add", steps, n.emit("cast", zero, data_type="float32")), data_type=zero.dtype)
