"""Matrix products: MatMul and Gemm, of floats and of integers."""

from __future__ import annotations

from collections.abc import Callable

from basalt.ops import Shape

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor

__all__ = ["as_matrices", "integer_product"]

_LIMB = 16
_EXACT_DEPTH = 1 << 19
"""Float64 holds the sum of this many products of limbs, four sums at a time."""


_WHOLE = 1 << 24
"""The attributes are float32, which holds all integers up to this one."""


@onnx_op("MatMul", 1, 9, 13)
def matmul(n: NodeContext) -> Tensor:
    a, b = n.tensor(0), n.tensor(1)
    return as_matrices(n, a, b, lambda x, y: _product(n, x, y))


def as_matrices(n: NodeContext, a: Tensor, b: Tensor, product: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A product of matrices applied to operands of which one or both may be vectors, as NumPy's matmul takes them."""
    if not a.rank or not b.rank:
        raise n.error("a number is no matrix, expected tensors of rank 1 or more")
    left = n.reshape(a, (1, *a.shape)) if a.rank == 1 else a
    right = n.reshape(b, (*b.shape, 1)) if b.rank == 1 else b
    y = product(left, right)
    shape: Shape = y.shape
    if b.rank == 1:
        shape = shape[:-1]
    if a.rank == 1:
        shape = (*shape[: y.rank - 2], *shape[y.rank - 1 :])
    return n.reshape(y, shape)


def _product(n: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    return n.emit("matmul", a, b) if "float" in a.dtype else integer_product(n, a, b)


def integer_product(n: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The matrix product of integers of 32 or 64 bits, modulo 2 to their width.

    The operands are cut into limbs of 16 bits, whose products float64 sums up exactly.
    """
    depth, _ = n.static(a.shape[-1], b.shape[-2])
    if depth > _EXACT_DEPTH:
        half = depth // 2
        parts = [
            integer_product(n, n.slice(a, a.rank - 1, start, size), n.slice(b, b.rank - 2, start, size))
            for start, size in ((0, half), (half, depth - half))
        ]
        return n.emit("add", *parts)
    left, right = _limbs(n, a), _limbs(n, b)
    total: Tensor | None = None
    for place in range(len(left)):
        terms = [n.emit("matmul", left[i], right[place - i]) for i in range(place + 1)]
        sums = terms[0]
        for term in terms[1:]:
            sums = n.emit("add", sums, term)
        shifted = n.emit("cast", sums, data_type="int64")
        if place:
            shifted = n.emit("shift_left", shifted, n.constant(place * _LIMB, "int64"))
        total = shifted if total is None else n.emit("add", total, shifted)
    assert total is not None
    return n.emit("cast", total, data_type=a.dtype)


def _limbs(n: NodeContext, x: Tensor) -> list[Tensor]:
    """The bits of integers, 16 at a time from the lowest on, as float64; the highest limb has the sign."""
    count = int(x.dtype.removeprefix("u").removeprefix("int")) // _LIMB
    found = []
    for i in range(count):
        part = n.emit("shift_right", x, n.scalar(i * _LIMB, x)) if i else x
        if i < count - 1:
            part = n.emit("bitwise_and", part, n.scalar((1 << _LIMB) - 1, x))
        found.append(n.emit("cast", part, data_type="float64"))
    return found


@onnx_op("Gemm", 1, 6, 7, 9, 11, 13)
def gemm(n: NodeContext) -> Tensor:
    a, b, c = n.tensor(0), n.tensor(1), n.optional(2)
    for x, name in ((a, "A"), (b, "B")):
        if x.rank != 2:
            raise n.error(f"input {name} has rank {x.rank}, expected 2")
    alpha, beta = n.attr("alpha"), n.attr("beta")
    transposed = bool(n.attr("transA")), bool(n.attr("transB"))
    rows, columns = a.shape[transposed[0]], b.shape[1 - transposed[1]]
    if c is not None and n.version < 7 and not n.attr("broadcast"):
        _expect_whole(n, c, (rows, columns))
    if beta == 0:
        c = None
    if "float" in a.dtype:
        return n.emit("gemm", a, b, c, alpha=alpha, beta=beta, a_transpose=transposed[0], b_transpose=transposed[1])
    left, right = (n.transpose(x, (1, 0)) if t else x for x, t in zip((a, b), transposed))
    return _scaled_sum(n, integer_product(n, left, right), c, alpha, beta)


def _expect_whole(n: NodeContext, c: Tensor, shape: Shape) -> None:
    same = c.rank == 2 and all(not isinstance(x - y, int) or x == y for x, y in zip(c.shape, shape))
    if not same:
        raise n.error(f"input C has shape {list(c.shape)}, expected {list(shape)} where broadcast is 0")


def _scaled_sum(n: NodeContext, y: Tensor, c: Tensor | None, alpha: float, beta: float) -> Tensor:
    """``alpha * y + beta * c`` of integers; in float64 and truncated if a factor is no integer, or a large one."""
    dtype = y.dtype
    factors = [(y, alpha)] if c is None else [(y, alpha), (c, beta)]
    if not all(float(f).is_integer() and abs(f) <= _WHOLE for _, f in factors):
        factors = [(n.emit("cast", x, data_type="float64"), f) for x, f in factors]
    parts = [x if f == 1 else n.emit("mul", x, n.scalar(_factor(f, x), x)) for x, f in factors]
    total = parts[0] if c is None else n.emit("add", *parts)
    return total if total.dtype == dtype else n.emit("cast", total, data_type=dtype)


def _factor(factor: float, x: Tensor) -> float | int:
    if x.dtype == "float64":
        return factor
    return int(factor) % (1 << 32 if "32" in x.dtype else 1 << 64) if x.dtype.startswith("u") else int(factor)
