"""Rewrites of limits, roundings, casts and choices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from basalt.ops.types import integer_bounds, is_float

from ..ir import Value
from .emitter import Emitter
from .patterns import Match, number, op
from .rewriting import only_if, rewrite
from .traits import COMPARISONS, integers, same_type, truth_value

_ROUNDINGS = ("ceil", "floor", "round_even")
_OPPOSITE = {
    "equal": "not_equal",
    "not_equal": "equal",
    "greater": "lesser_or_equal",
    "lesser_or_equal": "greater",
    "lesser": "greater_or_equal",
    "greater_or_equal": "lesser",
}


@rewrite(op(("max", "min"), "x", "x"))
def extreme_of_itself(m: Match, e: Emitter) -> Value:
    """The larger and the smaller of x and x are x, NaN included."""
    return m["x"]


def _bounds_nothing(m: Match) -> bool:
    dtype, bound = m["x"].dtype, m.number("c")
    if is_float(dtype):
        return bound == (-math.inf if m.root.op == "max" else math.inf)
    return bound == integer_bounds(dtype)[0 if m.root.op == "max" else 1]


@rewrite(
    op(("max", "min"), "x", number("c"), commutes=True),
    same_type("x"),
    only_if(_bounds_nothing),
)
def extreme_of_unbounded(m: Match, e: Emitter) -> Value:
    """Nothing is smaller than -infinity, or than the least integer; NaN stays NaN."""
    return m["x"]


@rewrite(op(_ROUNDINGS, op(_ROUNDINGS, "x", name="inner")))
def rounding_of_rounding(m: Match, e: Emitter) -> Value:
    """What is rounded, to whichever side, is an integer already."""
    return m.node("inner").output


@rewrite(op("sign", op("sign", "x", name="inner")))
def sign_of_sign(m: Match, e: Emitter) -> Value:
    """The sign of 1, 0 and -1 is itself."""
    return m.node("inner").output


def _limits(op: str, attrs: Mapping[str, Any], dtype: str) -> tuple[Any, Any]:
    """The bounds that a relu or clamp puts on its input."""
    if op == "clamp":
        return attrs["min_value"], attrs["max_value"]
    return (0.0, math.inf) if is_float(dtype) else (0, integer_bounds(dtype)[1])


def _all_bounds(m: Match) -> tuple[Any, Any, Any, Any]:
    inner, outer = m.node("inner"), m.node("outer")
    dtype = m["x"].dtype
    return (*_limits(inner.op, inner.attrs, dtype), *_limits(outer.op, outer.attrs, dtype))


@rewrite(op(("relu", "clamp"), op(("relu", "clamp"), "x", name="inner"), name="outer"))
def clamp_of_clamp(m: Match, e: Emitter) -> Value:
    """The outer bounds, applied to the inner ones, are the bounds; relu is a clamp from 0 on.

    The signs of zeros stay as well if the maximum of 0 and -0 is 0, as in IEEE 754-2019.
    """
    low, high, floor, ceiling = _all_bounds(m)
    if (low, high) == (floor, ceiling):
        return m.node("inner").output
    low, high = (min(max(bound, floor), ceiling) for bound in (low, high))
    return e.emit("clamp", m["x"], min_value=low, max_value=high)


def _is_unlimited(m: Match) -> bool:
    dtype = m["x"].dtype
    whole = (-math.inf, math.inf) if is_float(dtype) else integer_bounds(dtype)
    return _limits("clamp", m.root.attrs, dtype) == whole


@rewrite(op("clamp", "x"), only_if(_is_unlimited))
def clamp_without_bounds(m: Match, e: Emitter) -> Value:
    """Bounds at the ends of the data type's range bound nothing; NaN stays NaN."""
    return m["x"]


def holds(wide: str, narrow: str) -> bool:
    """Whether every value of data type ``narrow`` is one of ``wide``."""
    if narrow == wide or narrow == "bool":
        return True
    if is_float(narrow) and not is_float(wide):
        return False
    if is_float(wide):
        digits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}.get(wide, 0)
        if is_float(narrow):
            return (wide, narrow) in (
                ("float64", "float32"),
                ("float64", "float16"),
                ("float64", "bfloat16"),
                ("float32", "float16"),
                ("float32", "bfloat16"),
            )
        low, high = integer_bounds(narrow)
        return max(-low, high).bit_length() - (low != 0 and -low == high + 1) <= digits
    (low, high), (least, most) = integer_bounds(narrow), integer_bounds(wide)
    return least <= low and high <= most


def _casts_alike(m: Match) -> bool:
    first, middle, last = m["x"].dtype, m.node("inner").output.dtype, m.output.dtype
    if not holds(middle, first):
        return False
    if is_float(first) == is_float(middle):
        return True
    # An integer that went through a float: a float saturates where integers wrap around, and NumPy rounds integers to
    # float16 twice if they need more than float32's digits.
    return holds(last, first) or (is_float(last) and holds("float32", first))


@rewrite(
    op("cast", op("cast", "x", name="inner")),
    ("the data type between does not hold every value, or casts on in another way", _casts_alike),
)
def cast_of_cast(m: Match, e: Emitter) -> Value:
    """The data type between keeps every value."""
    return e.cast(m["x"], m.output.dtype)


@rewrite(op("logical_not", op("logical_not", "x")), truth_value("x"))
def not_of_not(m: Match, e: Emitter) -> Value:
    """Two negations are none for 0 and 1."""
    return e.cast(m["x"], m.output.dtype)


@rewrite(
    op("logical_not", op(COMPARISONS, "x", "y", name="comparison")),
    (
        "with NaN neither an order nor its opposite holds",
        lambda m: m.node("comparison").op in ("equal", "not_equal") or not is_float(m["x"].dtype),
    ),
)
def not_of_comparison(m: Match, e: Emitter) -> Value:
    """The opposite comparison; for floats only of equality, which NaN has with nothing."""
    return e.emit(_OPPOSITE[m.node("comparison").op], m["x"], m["y"])


@rewrite(op(COMPARISONS, "x", "x"), integers("x"))
def compare_with_itself(m: Match, e: Emitter) -> Value:
    """An integer equals itself; NaN does not."""
    truth = m.root.op in ("equal", "greater_or_equal", "lesser_or_equal")
    return e.expand(e.scalar(int(truth), "uint8"), m.output.shape)


@rewrite(op("not_equal", "x", number("c", lambda n: n == 0), commutes=True), same_type("x"), truth_value("x"))
def not_equal_zero(m: Match, e: Emitter) -> Value:
    """0 and 1 are the truth of themselves."""
    return m["x"]


@rewrite(op("logical_and", "x", number("c", lambda n: n != 0), commutes=True), same_type("x"), truth_value("x"))
def and_true(m: Match, e: Emitter) -> Value:
    """x and true is x for 0 and 1."""
    return m["x"]


@rewrite(op("logical_or", "x", number("c", lambda n: n == 0), commutes=True), same_type("x"), truth_value("x"))
def or_false(m: Match, e: Emitter) -> Value:
    """x or false is x for 0 and 1."""
    return m["x"]


@rewrite(op("where", number("c"), "x", "y"))
def where_constant(m: Match, e: Emitter) -> Value:
    """The choice is made."""
    return e.expand(m["x"] if m.number("c") != 0 else m["y"], m.output.shape)


@rewrite(op("where", "c", "x", "x"))
def where_alike(m: Match, e: Emitter) -> Value:
    """The choice makes no difference."""
    return e.expand(m["x"], m.output.shape)


@rewrite(op("where", op("logical_not", "c"), "x", "y"))
def where_not(m: Match, e: Emitter) -> Value:
    """The choices change places."""
    return e.emit("where", m["c"], m["y"], m["x"])


REWRITES = (
    extreme_of_itself,
    extreme_of_unbounded,
    rounding_of_rounding,
    sign_of_sign,
    clamp_of_clamp,
    clamp_without_bounds,
    cast_of_cast,
    not_of_not,
    not_of_comparison,
    compare_with_itself,
    not_equal_zero,
    and_true,
    or_false,
    where_constant,
    where_alike,
    where_not,
)
