"""Reductions, running sums, order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from basalt.ops.dims import product

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten
from .pointwise import as_bool

Axes = int | Sequence[int] | None


def axes_of(n: AtenContext, x: Tensor, dim: Axes) -> tuple[int, ...]:
    """Axes counted from the front; all where none is stated."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return tuple(range(x.rank))
    return tuple(n.dim(d, x.rank) for d in ((dim,) if isinstance(dim, int) else dim))


def _reduce(n: AtenContext, x: Tensor, dim: Axes = None, keepdim: bool = False, *, op: str, **options: Any) -> Tensor:
    x = n.cast(x, n.dtype)
    if not x.rank:
        return x
    axes = n.constant(list(axes_of(n, x, dim)), "int64")
    return n.call(op, x, axes, keepdims=int(keepdim))


aten("sum.default", "sum.dim_IntList")(partial(_reduce, op="ReduceSum"))
aten("mean.default", "mean.dim")(partial(_reduce, op="ReduceMean"))
aten("amax.default", "max.default")(partial(_reduce, op="ReduceMax"))
aten("amin.default", "min.default")(partial(_reduce, op="ReduceMin"))
aten("prod.default", "prod.dim_int")(partial(_reduce, op="ReduceProd"))


@aten("logsumexp.default")
def logsumexp(n: AtenContext, x: Tensor, dim: Axes, keepdim: bool = False) -> Tensor:
    return _reduce(n, x, dim, keepdim, op="ReduceLogSumExp")


def _any_all(n: AtenContext, x: Tensor, dim: Axes = None, keepdim: bool = False, *, op: str) -> Tensor:
    bits = n.cast(as_bool(n, x), "uint8")
    if bits.rank:
        bits = n.emit(op, bits, axes=axes_of(n, x, dim), keep_dimensions=bool(keepdim))
    return n.cast(bits, n.dtype)


aten("any.default", "any.dim", "any.dims")(partial(_any_all, op="reduce_max"))
aten("all.default", "all.dim", "all.dims")(partial(_any_all, op="reduce_min"))


def _variance(
    n: AtenContext, x: Tensor, dim: Axes = None, correction: Any = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The variance and the mean (Bessel's correction is torch's default)."""
    axes = axes_of(n, x, dim)
    mean = n.emit("reduce_mean", x, axes=axes, keep_dimensions=True)
    centred = n.emit("sub", x, mean)
    total = n.emit("reduce_sum", n.emit("mul", centred, centred), axes=axes, keep_dimensions=bool(keepdim))
    count = product(x.shape[a] for a in axes)
    less = 1 if correction is None else correction
    divisor = n.tensor_of(count, x.dtype)
    if less:
        divisor = n.emit("max", n.emit("sub", divisor, n.scalar(less, x)), n.scalar(0, x))
    if not keepdim:
        mean = n.reshape(mean, total.shape)
    return n.emit("div", total, divisor), mean


@aten("var.correction")
def var(n: AtenContext, x: Tensor, dim: Axes = None, correction: Any = None, keepdim: bool = False) -> Tensor:
    return _variance(n, x, dim, correction, keepdim)[0]


@aten("var.default", "var.dim")
def var_of(n: AtenContext, x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _variance(n, x, dim, int(unbiased), keepdim)[0]


@aten("std.correction")
def std(n: AtenContext, x: Tensor, dim: Axes = None, correction: Any = None, keepdim: bool = False) -> Tensor:
    return n.emit("sqrt", _variance(n, x, dim, correction, keepdim)[0])


@aten("var_mean.correction")
def var_mean(n: AtenContext, x: Tensor, dim: Axes = None, correction: Any = None, keepdim: bool = False) -> Any:
    return _variance(n, x, dim, correction, keepdim)


def _arg(n: AtenContext, x: Tensor, dim: int | None = None, keepdim: bool = False, *, op: str) -> Tensor:
    if dim is None:
        return n.shaped(n.call(op, n.reshape(x, (product(x.shape),)), axis=0, keepdims=0))
    if not x.rank:
        return n.filled(0)
    return n.call(op, x, axis=n.dim(dim, x.rank), keepdims=int(keepdim))


aten("argmax.default")(partial(_arg, op="ArgMax"))
aten("argmin.default")(partial(_arg, op="ArgMin"))


def _with_indices(n: AtenContext, x: Tensor, dim: int, keepdim: bool = False, *, op: str, arg: str) -> Any:
    return _reduce(n, x, dim, keepdim, op=op), _arg(n, x, dim, keepdim, op=arg)


aten("max.dim")(partial(_with_indices, op="ReduceMax", arg="ArgMax"))
aten("min.dim")(partial(_with_indices, op="ReduceMin", arg="ArgMin"))


@aten("cumsum.default")
def cumsum(n: AtenContext, x: Tensor, dim: int, dtype: Any = None) -> Tensor:
    x = n.cast(x, n.dtype)
    return n.emit("cumulative_sum", x, axis=n.dim(dim, x.rank)) if x.rank else x


@aten("cumprod.default")
def cumprod(n: AtenContext, x: Tensor, dim: int, dtype: Any = None) -> Tensor:
    x = n.cast(x, n.dtype)
    return n.emit("cumulative_product", x, axis=n.dim(dim, x.rank)) if x.rank else x


@aten("topk.default")
def topk(
    n: AtenContext, x: Tensor, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]:
    return n.emit_all("top_k", x, k=k, axis=n.dim(dim, x.rank), largest=bool(largest), sorted=True)


def _sorted(n: AtenContext, x: Tensor, dim: int, descending: bool) -> tuple[Tensor, ...]:
    axis = n.dim(dim, x.rank)
    return n.emit_all("top_k", x, k=x.shape[axis], axis=axis, largest=bool(descending), sorted=True)


@aten("sort.default")
def sort(n: AtenContext, x: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, ...]:
    return _sorted(n, x, dim, descending)


@aten("sort.stable")
def sort_stable(
    n: AtenContext, x: Tensor, stable: Any = True, dim: int = -1, descending: bool = False
) -> tuple[Tensor, ...]:
    return _sorted(n, x, dim, descending)


@aten("argsort.default")
def argsort(n: AtenContext, x: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return _sorted(n, x, dim, descending)[1]


@aten("linalg_vector_norm.default")
def vector_norm(
    n: AtenContext, x: Tensor, order: Any = 2, dim: Axes = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    x = n.cast(x, n.dtype)
    if order in (math.inf, -math.inf):
        return _reduce(n, n.emit("abs", x), dim, keepdim, op="ReduceMax" if order > 0 else "ReduceMin")
    if order in (1, 2):
        return _reduce(n, x, dim, keepdim, op=f"ReduceL{int(order)}")
    if order == 0:
        nonzero = n.emit("not_equal", x, n.scalar(0, x), dtype="bool")
        return _reduce(n, n.cast(nonzero, x.dtype), dim, keepdim, op="ReduceSum")
    powers = n.call("Pow", n.emit("abs", x), n.scalar(float(order), x))
    return n.call("Pow", _reduce(n, powers, dim, keepdim, op="ReduceSum"), n.scalar(1 / order, x))
