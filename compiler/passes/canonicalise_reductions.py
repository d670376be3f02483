"""Reductions as element-wise operators around the primitive ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..ir import Value
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import only_if, rewrite

PRIMITIVE = ("reduce_sum", "reduce_product", "reduce_max", "reduce_min")
NARROW = frozenset({"float16", "bfloat16"})
"""Floats that are computed in float32 inside reductions and normalizations, against overflow and rounding."""

Axes = tuple[int, ...]


def widen(e: Emitter, x: Value) -> Value:
    """The value in float32 if its data type is a narrower float."""
    return e.cast(x, "float32") if x.dtype in NARROW else x


def settle(e: Emitter, x: Value, like: Value) -> Value:
    """The value with the shape and data type of another."""
    return e.cast(e.reshape(x, like.shape), like.dtype)


def long_axes(x: Value, axes: Sequence[int]) -> Axes:
    """The axes over which there is something to combine, in ascending order."""
    return tuple(axis for axis in sorted(axes) if x.shape[axis] != 1)


def reduce(e: Emitter, primitive: str, x: Value, axes: Axes) -> Value:
    """A primitive reduction that keeps the dimensions; the value itself if there are no axes."""
    return e.emit(primitive, x, axes=axes, keep_dimensions=True) if axes else x


def count(x: Value, axes: Axes) -> int:
    """The number of elements that a reduction combines."""
    return prod(x.shape[axis] for axis in axes)


def mean(e: Emitter, x: Value, axes: Axes) -> Value:
    """The mean over axes, which are kept with size 1."""
    return e.emit("div", reduce(e, "reduce_sum", x, axes), e.scalar(count(x, axes), x.dtype)) if axes else x


def _l1(e: Emitter, x: Value, axes: Axes) -> Value:
    return reduce(e, "reduce_sum", x if x.dtype.startswith("uint") else e.emit("abs", x), axes)


def _l2(e: Emitter, x: Value, axes: Axes) -> Value:
    return e.emit("sqrt", _sum_square(e, x, axes)) if axes else e.emit("abs", x)


def _log_sum(e: Emitter, x: Value, axes: Axes) -> Value:
    return e.emit("log", reduce(e, "reduce_sum", x, axes))


def _log_sum_exp(e: Emitter, x: Value, axes: Axes) -> Value:
    """The logarithm of the exponentials' sum, shifted by the largest element against overflow.

    An infinite largest element must not shift: infinities' differences are NaN, while the sum of the exponentials is
    infinite, or 0 if all elements are -infinity. NaN shifts, and so reaches the result.
    """
    if not axes:
        return x
    largest = reduce(e, "reduce_max", x, axes)
    shift = e.emit("where", e.emit("is_infinite", largest), e.scalar(0.0, x.dtype), largest)
    powers = e.emit("exp", e.emit("sub", x, shift))
    return e.emit("add", e.emit("log", reduce(e, "reduce_sum", powers, axes)), shift)


def _sum_square(e: Emitter, x: Value, axes: Axes) -> Value:
    return reduce(e, "reduce_sum", e.emit("mul", x, x), axes)


_COMPOSED: dict[str, Callable[[Emitter, Value, Axes], Value]] = {
    "reduce_l1": _l1,
    "reduce_l2": _l2,
    "reduce_log_sum": _log_sum,
    "reduce_log_sum_exp": _log_sum_exp,
    "reduce_mean": mean,
    "reduce_sum_square": _sum_square,
}


@rewrite(op(tuple(_COMPOSED), "x", name="reduce"), exact=False)
def composed_reduction(m: Match, e: Emitter) -> Value:
    """Each is a primitive reduction of a function of the elements, and a function of its result."""
    x = widen(e, m["x"])
    axes = long_axes(x, m.node("reduce").attrs["axes"])
    return settle(e, _COMPOSED[m.root.op](e, x, axes), m.output)


def _is_core(m: Match) -> bool:
    axes = m.node("reduce").attrs["axes"]
    in_form = m.node("reduce").attrs["keep_dimensions"] and m["x"].dtype not in NARROW
    return bool(in_form and axes and axes == tuple(sorted(axes)))


@rewrite(op(PRIMITIVE, "x", name="reduce"), only_if(lambda m: not _is_core(m)), exact=False)
def primitive_reduction(m: Match, e: Emitter) -> Value:
    """The dimensions are kept, which a reshape drops if the result has none; narrow floats are computed in float32."""
    x = widen(e, m["x"])
    return settle(e, reduce(e, m.root.op, x, tuple(sorted(m.node("reduce").attrs["axes"]))), m.output)


REWRITES = (composed_reduction, primitive_reduction)
