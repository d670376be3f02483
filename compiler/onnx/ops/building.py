"""What translators of several families build from core operators: conversions, counters, products, heads."""

from __future__ import annotations

import numpy as np

from basalt.ops import Dim, SymDim

from ..node import NodeContext
from ..tensor import Tensor, carrier

__all__ = ["convert", "iota", "last_axis_product", "merge_heads", "quotient", "split_heads", "wide", "zeros"]


def convert(n: NodeContext, x: Tensor, dtype: str) -> Tensor:
    """A tensor of numbers (or truth values) in another data type of numbers; itself if it has that type."""
    if x.dtype == dtype:
        return x
    if dtype == "bool":
        return n.emit("not_equal", x, n.scalar(0, x), dtype="bool")
    return n.emit("cast", x, data_type=carrier(dtype), dtype=dtype)


def wide(dtype: str) -> str:
    """The data type in which sums over a tensor of ``dtype`` are made: float32 for the shorter floats."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def iota(n: NodeContext, size: Dim, dtype: str = "int64") -> Tensor:
    """The numbers 0, 1, 2, ... as a vector."""
    if not isinstance(size, SymDim):
        return n.constant(np.arange(size), dtype)
    ones = n.emit("expand", n.constant(np.ones(1), "int64"), new_shape=(size,))
    return convert(n, n.emit("cumulative_sum", ones, axis=0, exclusive=True), dtype)


def zeros(n: NodeContext, shape: tuple[Dim, ...], dtype: str) -> Tensor:
    """A tensor of zeros."""
    return n.expand(n.scalar(0, dtype), shape)


def last_axis_product(n: NodeContext, x: Tensor, matrix: Tensor) -> Tensor:
    """The products of a tensor's last axis with a matrix, ``[..., k] @ [k, m]``, as one product of matrices."""
    if x.rank == 1:
        return n.reshape(n.emit("matmul", n.reshape(x, (1, *x.shape)), matrix), matrix.shape[1:])
    return n.emit("matmul", x, matrix)


def quotient(n: NodeContext, size: Dim, parts: int, what: str) -> Dim:
    """A size divided into equal parts; refused if it cannot be."""
    if parts <= 0:
        raise n.error(f"{what} is {parts}, expected a positive number")
    if isinstance(size, int) and size % parts:
        raise n.error(f"{what} is {parts}, which does not divide {size}")
    return size // parts


def split_heads(n: NodeContext, x: Tensor, heads: int, what: str = "num_heads") -> Tensor:
    """``[batch, sequence, heads * size]`` as ``[batch, heads, sequence, size]``."""
    batch, length, hidden = x.shape
    parted = n.reshape(x, (batch, length, heads, quotient(n, hidden, heads, what)))
    return n.transpose(parted, (0, 2, 1, 3))


def merge_heads(n: NodeContext, x: Tensor) -> Tensor:
    """``[batch, heads, sequence, size]`` as ``[batch, sequence, heads * size]``."""
    batch, heads, length, size = x.shape
    return n.reshape(n.transpose(x, (0, 2, 1, 3)), (batch, length, heads * size))
