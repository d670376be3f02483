"""Matrix products."""

from __future__ import annotations

from typing import Any

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor
from .activation import fits


@exports("gemm")
def gemm(n: NodeWriter) -> Tensor:
    alpha, beta = n.attrs["alpha"], n.attrs["beta"]
    if not fits(alpha, beta):
        return _composed(n)
    options: dict[str, Any] = {"transA": int(n.attrs["a_transpose"]), "transB": int(n.attrs["b_transpose"])}
    return n.call("Gemm", n["a"], n["b"], n.get("c"), alpha=float(alpha), beta=float(beta), **options)


def _composed(n: NodeWriter) -> Tensor:
    """For factors that Gemm's float32 attributes do not hold."""
    a, b = n["a"], n["b"]
    a = n.transpose(a, (1, 0)) if n.attrs["a_transpose"] else a
    b = n.transpose(b, (1, 0)) if n.attrs["b_transpose"] else b
    result = n.call("MatMul", n.call("Mul", a, n.scalar(n.attrs["alpha"], a.dtype)), b)
    c = n.get("c")
    return result if c is None else n.call("Add", result, n.call("Mul", c, n.scalar(n.attrs["beta"], c.dtype)))


@exports("matmul")
def matmul(n: NodeWriter) -> Tensor:
    return n.call("MatMul", n["a"], n["b"])


@exports("matmul_integer")
def matmul_integer(n: NodeWriter) -> Tensor:
    """ONNX Runtime takes one zero point for ``a``, and a vector for ``b`` at most."""
    a_zero, b_zero = n.get("a_zero_point"), n.get("b_zero_point")
    one = a_zero is None or n.type("a_zero_point").rank == 0 or n.type("a_zero_point").shape == (1,)
    if one and (b_zero is None or n.type("b_zero_point").rank <= 1):
        return n.call("MatMulInteger", n["a"], n["b"], a_zero, b_zero)
    return n.call("MatMul", _centred(n, "a", rows=True), _centred(n, "b", rows=False))


def _centred(n: NodeWriter, name: str, *, rows: bool) -> Tensor:
    """An operand without its zero point, in int32."""
    x = n.cast(n[name], "int32")
    zero = n.get(f"{name}_zero_point")
    if zero is None:
        return x
    if rows and n.type(f"{name}_zero_point").rank == 1:
        zero = n.reshape(zero, (-1, 1))
    return n.call("Sub", x, n.cast(zero, "int32"))


@exports("attention")
def attention(n: NodeWriter) -> Tensor:
    """Written out: ONNX's own Attention is of opset 23 on, and has heads."""
    query, key = n["query"], n["key"]
    rank = len(n.type("key").shape)
    keys = n.transpose(key, (*range(rank - 2), rank - 1, rank - 2))
    scores = n.call("Mul", n.call("MatMul", query, keys), n.scalar(n.attrs["scale"], query.dtype))
    mask = n.get("mask")
    scores = scores if mask is None else n.call("Add", scores, mask)
    keep = n.get("keep")
    if keep is not None:
        scores = n.where(n.truth(keep), scores, n.scalar(n.attrs["fill"], query.dtype))
    return n.call("MatMul", n.call("Softmax", scores, axis=rank - 1), n["value"])


@exports("matmul_blocks")
def matmul_blocks(n: NodeWriter) -> Tensor:
    """Written out: the weights in float32, [blocks, size] each a line of the transposed matrix."""
    columns, length = n.type("codes").shape
    blocks = n.type("scale").shape[1]
    codes = n.reshape(n.cast(n["codes"], "float32"), (columns, blocks, length // blocks))
    zero, scale = (n.reshape(x, (columns, blocks, 1)) for x in (n.cast(n["zero_point"], "float32"), n["scale"]))
    weights = n.reshape(n.call("Mul", n.call("Sub", codes, zero), scale), (columns, length))
    depth = n.type("a").shape[-1]
    if depth != length:
        weights = n.call("Slice", weights, n.ints([0]), n.sizes([depth]), n.ints([1]))
    return n.call("MatMul", n["a"], n.transpose(weights, (1, 0)))
