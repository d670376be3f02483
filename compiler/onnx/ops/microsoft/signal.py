"""Rfft, Irfft, ComplexMul and CDist of ONNX Runtime."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, wide
from ..fourier import half_inverse, transform


def _check(n: NodeContext) -> None:
    if n.attr("signal_ndim") != 1 or n.attr("onesided") != 1 or n.attr("normalized") != 0:
        raise n.unsupported("transforms other than one-sided ones of one axis that are not normalised")


@onnx_op("Rfft", 1, domain=MICROSOFT)
def rfft(n: NodeContext) -> Tensor:
    _check(n)
    x = n.tensor(0)
    (length,) = n.static(x.shape[-1])
    held = n.reshape(convert(n, x, wide(x.dtype)), (*x.shape, 1))
    return convert(n, transform(n, held, length, True, False), x.dtype)


@onnx_op("Irfft", 1, domain=MICROSOFT)
def irfft(n: NodeContext) -> Tensor:
    """The inverse, divided by the length as NumPy's and torch's are."""
    _check(n)
    x = n.tensor(0)
    (bins,) = n.static(x.shape[-2])
    y = half_inverse(n, convert(n, x, wide(x.dtype)), 2 * (bins - 1))
    return convert(n, n.reshape(y, y.shape[:-1]), x.dtype)


@onnx_op("ComplexMul", 1, domain=MICROSOFT)
@onnx_op("ComplexMulConj", 1, domain=MICROSOFT)
def complex_mul(n: NodeContext) -> Tensor:
    """Products of complex numbers, whose parts are the last axis; the second factor may be conjugated."""
    a, b = n.tensor(0), n.tensor(1)
    if a.shape[-1] != 2 or b.shape[-1] != 2:
        raise n.error(f"got {a} and {b}, expected a last dimension of 2")
    (c, d), (e, f) = ([n.slice(t, t.rank - 1, i, 1) for i in (0, 1)] for t in (a, b))
    products = [n.emit("mul", *pair) for pair in ((c, e), (d, f), (d, e), (c, f))]
    first, second = ("add", "sub") if n.op == "ComplexMulConj" else ("sub", "add")
    real = n.emit(first, products[0], products[1])
    imaginary = n.emit(second, products[2], products[3])
    return n.emit("concat", real, imaginary, axis=real.rank - 1)


@onnx_op("CDist", 1, domain=MICROSOFT)
def cdist(n: NodeContext) -> Tensor:
    """The distances of all rows of the one matrix to all of the other."""
    a, b, metric = n.tensor(0), n.tensor(1), n.attr("metric")
    if a.rank != 2 or b.rank != 2:
        raise n.error(f"A is {a}, B {b}; expected rank 2")
    if metric not in ("sqeuclidean", "euclidean"):
        raise n.unsupported(f"metric {metric!r}; known are 'sqeuclidean' and 'euclidean'")
    rows, columns = n.reshape(a, (a.shape[0], 1, a.shape[1])), n.reshape(b, (1, *b.shape))
    total = n.emit("reduce_sum_square", n.emit("sub", rows, columns), axes=(2,))
    return total if metric == "sqeuclidean" else n.emit("sqrt", total)


@onnx_op("IsAllFinite", 1, domain=MICROSOFT)
def is_all_finite(n: NodeContext) -> Tensor:
    """Whether no element of any tensor is NaN or infinite, or of one of these kinds only."""
    kinds = [k for k, other in (("is_nan", "isinf_only"), ("is_infinite", "isnan_only")) if not n.attr(other)]
    found = []
    for x in n.tensors():
        for kind in kinds:
            marks = convert(n, n.emit(kind, x, dtype="bool"), "int32")
            found.append(n.emit("reduce_max", marks))
    total = n.scalar(0, "int32")
    for mark in found:
        total = n.emit("max", total, mark)
    return n.emit("equal", total, n.scalar(0, "int32"), dtype="bool")
