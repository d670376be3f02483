"""Matrix products, linear layers, Einstein sums."""

from __future__ import annotations

from typing import Any

from basalt.ops.dims import product

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten
from .pointwise import is_integer


@aten("linear.default")
def linear(n: AtenContext, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.rank == 1 or x.rank < 1 or is_integer(x.dtype):
        turned = n.transpose(weight, (1, 0)) if weight.rank == 2 else weight
        y: Tensor = n.call("MatMul", x, turned)
        return y if bias is None else n.call("Add", y, bias)
    return affine(n, x, weight, bias)


def affine(n: AtenContext, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A linear layer of floats over the last axis of ``x``; ``weight`` is [outputs, inputs]."""
    rows = n.reshape(x, (product(x.shape[:-1]), x.shape[-1])) if x.rank != 2 else x
    y = n.emit("gemm", rows, weight, bias, b_transpose=True)
    return n.reshape(y, (*x.shape[:-1], weight.shape[0]))


@aten("mm.default", "bmm.default", "matmul.default", "mv.default", "dot.default")
def matmul(n: AtenContext, a: Tensor, b: Tensor) -> Tensor:
    return n.call("MatMul", n.cast(a, n.dtype), n.cast(b, n.dtype))


@aten("addmm.default", "baddbmm.default", "addmv.default", "addbmm.default")
def addmm(n: AtenContext, c: Tensor, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    if n.op == "aten::addmm.default" and not is_integer(n.dtype):
        if beta == 0:
            return n.emit("gemm", a, b, None, alpha=float(alpha))
        return n.emit("gemm", a, b, c, alpha=float(alpha), beta=float(beta))
    y: Tensor = n.call("MatMul", a, b)
    if n.op == "aten::addbmm.default":
        y = n.emit("reduce_sum", y, axes=(0,))
    y = y if alpha == 1 else n.call("Mul", y, n.tensor_of(alpha, y.dtype))
    if beta == 0:
        return y
    return n.call("Add", y, c if beta == 1 else n.call("Mul", c, n.tensor_of(beta, c.dtype)))


@aten("bilinear.default")
def bilinear(n: AtenContext, a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    y: Tensor = n.call("Einsum", a, weight, b, equation="...i,oij,...j->...o")
    return y if bias is None else n.call("Add", y, bias)


@aten("einsum.default")
def einsum(n: AtenContext, equation: str, tensors: list[Tensor], path: Any = None) -> Tensor:
    return n.call("Einsum", *tensors, equation=equation)
