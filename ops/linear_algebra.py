"""Matrix products (the standard's sections "gemm" and "matmul")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .convert import boolean, cast_number, double
from .dims import Dim
from .registry import register
from .rounding import narrow, widen
from .schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import broadcast, broadcastable_to, check_shape, same_dim, text
from .types import FLOATS, TensorType


@register
class Gemm(Operator):
    """The general matrix product ``alpha * a * b + beta * c`` of BLAS.

    ``a`` has shape [m, k] ([k, m] if transposed), ``b`` [k, n] ([n, k] if transposed); ``c`` is broadcast to [m, n].
    """

    name = "gemm"
    webnn = "gemm"
    section = "api-mlgraphbuilder-gemm"
    operands = (
        Operand("a", FLOATS, 2, doc="the first matrix"),
        Operand("b", "a", 2, doc="the second matrix"),
        Operand("c", "a", (0, 2), optional=True, doc="the addend, broadcast to the output's shape"),
    )
    outputs = (Output(dtypes="a", rank=2),)
    options = (
        Option("alpha", double, 1.0, "factor of the product"),
        Option("beta", double, 1.0, "factor of c"),
        Option("a_transpose", boolean, False, "whether a is transposed first"),
        Option("b_transpose", boolean, False, "whether b is transposed first"),
    )

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        rows, depth = t.a.shape[::-1] if a["a_transpose"] else t.a.shape
        height, columns = t.b.shape[::-1] if a["b_transpose"] else t.b.shape
        if not same_dim(depth, height):
            fail(
                f"a has {depth} columns{' transposed' if a['a_transpose'] else ''}, but b has {height} rows"
                f"{' transposed' if a['b_transpose'] else ''}; expected equal numbers"
            )
        for option in ("alpha", "beta"):
            a[option] = cast_number(a[option], t.a.dtype)
        shape = check_shape((rows, columns), zero=True)
        if t.c is not None and not broadcastable_to(t.c.shape, shape):
            fail(f"c has shape {text(t.c.shape)}, expected one that can be broadcast to {text(shape)}")
        return [TensorType(t.a.dtype, shape)]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return 2 * out[0].size * t.a.shape[0 if a["a_transpose"] else 1]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        first = widen(x.a).T if a["a_transpose"] else widen(x.a)
        second = widen(x.b).T if a["b_transpose"] else widen(x.b)
        with np.errstate(all="ignore"):
            result = np.matmul(first * a["alpha"] if a["alpha"] != 1 else first, second)
            if x.c is not None:
                result = result + widen(x.c) * a["beta"]
        return [narrow(result, out[0])]


@register
class Matmul(Operator):
    """The matrix product of the last two dimensions: [..., m, k] times [..., k, n] is [..., m, n].

    The leading dimensions are broadcast to each other.
    """

    name = "matmul"
    webnn = "matmul"
    section = "api-mlgraphbuilder-matmul"
    operands = (
        Operand("a", FLOATS, (2, MAX_RANK), doc="the first matrix, or stack of matrices"),
        Operand("b", "a", (2, MAX_RANK), doc="the second matrix, or stack of matrices"),
    )
    outputs = (Output(dtypes="a", rank=(2, MAX_RANK)),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        if not same_dim(t.a.shape[-1], t.b.shape[-2]):
            fail(f"a has {t.a.shape[-1]} columns, but b has {t.b.shape[-2]} rows; expected equal numbers")
        batches = broadcast(t.a.shape[:-2], t.b.shape[:-2])
        return [TensorType(t.a.dtype, check_shape((*batches, t.a.shape[-2], t.b.shape[-1]), zero=True))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        return 2 * out[0].size * t.a.shape[-1]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        with np.errstate(all="ignore"):
            return [narrow(np.matmul(widen(x.a), widen(x.b)), out[0])]
