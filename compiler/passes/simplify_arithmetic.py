"""Rewrites of arithmetic: neutral operands, powers, signs, and integer chains.

Floats keep every bit: NaN, infinities and the signs of zeros decide which identities hold. ``x + 0`` turns -0 into 0
and is no copy, ``x - 0`` is one; ``x * 0`` is NaN for infinities.
"""

from __future__ import annotations

import math

import numpy as np

from basalt.ops import numpy_dtype

from ..ir import Value
from .emitter import Emitter
from .patterns import Match, constant, number, op
from .rewriting import rewrite
from .traits import floats, integers, is_negative_zero, is_positive_zero, same_type, unsigned


def _adds_nothing(m: Match) -> bool:
    zero = m.number("c")
    return isinstance(zero, int) or is_negative_zero(zero)


@rewrite(
    op("add", "x", number("c", lambda n: n == 0), commutes=True),
    same_type("x"),
    ("the float constant is 0, which turns -0 into 0", _adds_nothing),
)
def add_zero(m: Match, e: Emitter) -> Value:
    """x + 0 is x for integers, x + -0 for floats."""
    return m["x"]


def _subtracts_nothing(m: Match) -> bool:
    zero = m.number("c")
    return isinstance(zero, int) or is_positive_zero(zero)


@rewrite(
    op("sub", "x", number("c", lambda n: n == 0)),
    same_type("x"),
    ("the float constant is -0, which turns -0 into 0", _subtracts_nothing),
)
def sub_zero(m: Match, e: Emitter) -> Value:
    """x - 0 is x, its sign included."""
    return m["x"]


@rewrite(op("mul", "x", number("c", lambda n: n == 1), commutes=True), same_type("x"))
def mul_one(m: Match, e: Emitter) -> Value:
    """x * 1 is x."""
    return m["x"]


@rewrite(op(("div", "pow"), "x", number("c", lambda n: n == 1)), same_type("x"))
def div_or_pow_one(m: Match, e: Emitter) -> Value:
    """x / 1 and x to the power of 1 are x."""
    return m["x"]


@rewrite(op("mul", "x", number("c", lambda n: n == -1), commutes=True), same_type("x"))
def mul_minus_one(m: Match, e: Emitter) -> Value:
    """x * -1 is -x."""
    return e.emit("neg", m["x"])


def _inverse(n: float | int, dtype: str) -> float | None:
    """1 / n if both are normal powers of two of the data type."""
    mantissa, _ = math.frexp(n)
    if abs(mantissa) != 0.5:
        return None
    inverse = 1.0 / n
    tiny = float(np.finfo(numpy_dtype(dtype)).tiny) if dtype in ("float16", "float32", "float64") else math.inf
    return inverse if abs(inverse) >= tiny and numpy_dtype(dtype).type(inverse) == inverse else None


@rewrite(
    op("div", "x", number("c", lambda n: isinstance(n, float) and math.isfinite(n) and n != 0)),
    ("the divisor is no power of two", lambda m: _inverse(m.number("c"), m["x"].dtype) is not None),
)
def div_by_power_of_two(m: Match, e: Emitter) -> Value:
    """Multiplying by the inverse is faster, and exact for a power of two."""
    inverse = _inverse(m.number("c"), m["x"].dtype)
    assert inverse is not None
    shape = m["c"].shape
    return e.emit("mul", m["x"], e.constant(np.full(shape, inverse, numpy_dtype(m["x"].dtype))))


@rewrite(op("div", number("c", lambda n: n == 1), "x"), floats("x"), same_type("x"))
def one_over_x(m: Match, e: Emitter) -> Value:
    """1 / x is the reciprocal."""
    return e.emit("reciprocal", m["x"])


@rewrite(op("pow", "x", number("c", lambda n: n == 2)), same_type("x"))
def pow_two(m: Match, e: Emitter) -> Value:
    """A product is one rounding, as the square is, and far cheaper than a power."""
    return e.emit("mul", m["x"], m["x"])


@rewrite(
    op("pow", "x", number("c", lambda n: n == 3)),
    same_type("x"),
    ("a narrow float would be rounded between the products", lambda m: m["x"].dtype in ("float32", "float64")),
    exact=False,
)
def pow_three(m: Match, e: Emitter) -> Value:
    """Two products, rounded twice: within 1 ULP of the cube, and far cheaper than a power."""
    return e.emit("mul", e.emit("mul", m["x"], m["x"]), m["x"])


@rewrite(
    op("pow", "x", number("c", lambda n: n == 0.5)),
    same_type("x"),
    unsigned("x"),
)
def pow_half(m: Match, e: Emitter) -> Value:
    """The square root, except that of -infinity (NaN, where the power is infinity) and of -0 (-0, where it is 0)."""
    return e.emit("sqrt", m["x"])


_FEW_ROUNDINGS = ("a narrow float would be rounded between", lambda m: m["x"].dtype in ("float32", "float64"))


@rewrite(
    op("pow", "x", number("c", lambda n: n in (0.25, 1.5))),
    same_type("x"),
    _FEW_ROUNDINGS,
    unsigned("x"),
    exact=False,
)
def pow_of_roots(m: Match, e: Emitter) -> Value:
    """Square roots and a product, within 2 ULP; that no operand is negative matters for -infinity and -0."""
    root = e.emit("sqrt", m["x"])
    return e.emit("sqrt", root) if m.number("c") == 0.25 else e.emit("mul", m["x"], root)


@rewrite(op("pow", "x", number("c", lambda n: n == 4)), same_type("x"), _FEW_ROUNDINGS, exact=False)
def pow_four(m: Match, e: Emitter) -> Value:
    """The square of the square, within 2 ULP."""
    square = e.emit("mul", m["x"], m["x"])
    return e.emit("mul", square, square)


@rewrite(op("pow", "x", number("c", lambda n: n == -1)), floats("x"), same_type("x"))
def pow_minus_one(m: Match, e: Emitter) -> Value:
    """The reciprocal, infinities for zeros of either sign included."""
    return e.emit("reciprocal", m["x"])


@rewrite(op("neg", op("neg", "x")))
def neg_of_neg(m: Match, e: Emitter) -> Value:
    """Two changes of sign are none; the most negative integer stays itself in either."""
    return m["x"]


@rewrite(op("abs", op(("neg", "abs"), "x")))
def abs_of_neg(m: Match, e: Emitter) -> Value:
    """The absolute value does not see the sign."""
    return e.emit("abs", m["x"])


@rewrite(op("add", "x", op("neg", "y"), commutes=True))
def add_neg(m: Match, e: Emitter) -> Value:
    """x + -y is x - y."""
    return e.emit("sub", m["x"], m["y"])


@rewrite(op("sub", "x", op("neg", "y")))
def sub_neg(m: Match, e: Emitter) -> Value:
    """x - -y is x + y."""
    return e.emit("add", m["x"], m["y"])


@rewrite(op(("mul", "div"), op("neg", "x"), op("neg", "y")), floats("x"))
def product_of_negs(m: Match, e: Emitter) -> Value:
    """Two signs cancel; not in integer division, whose most negative number has no negative."""
    return e.emit(m.root.op, m["x"], m["y"])


@rewrite(op("sub", "x", "x"), integers("x"))
def sub_itself(m: Match, e: Emitter) -> Value:
    """x - x is 0 for integers; for floats NaN - NaN and the difference of infinities are NaN."""
    return e.expand(e.scalar(0, m["x"].dtype), m.output.shape)


@rewrite(op("mul", "x", number("c", lambda n: n == 0), commutes=True), integers("x"))
def mul_zero(m: Match, e: Emitter) -> Value:
    """x * 0 is 0 for integers; for floats it is NaN for infinities and NaN, and has x's sign."""
    return e.expand(e.scalar(0, m["x"].dtype), m.output.shape)


def _joined_size_is_bounded(m: Match) -> bool:
    shape = np.broadcast_shapes(m["c"].shape, m["d"].shape)
    return math.prod(shape) <= max(math.prod(m["c"].shape), math.prod(m["d"].shape))


_CHAIN_GUARDS = (integers("x"), ("the joined constant would be larger than either", _joined_size_is_bounded))


@rewrite(op("add", op("add", "x", constant("c"), commutes=True), constant("d"), commutes=True), *_CHAIN_GUARDS)
def add_chain(m: Match, e: Emitter) -> Value:
    """(x + c) + d is x + (c + d) for integers, which wrap around; floats round between."""
    return e.emit("add", m["x"], e.fold("add", m["c"], m["d"]))


@rewrite(op("mul", op("mul", "x", constant("c"), commutes=True), constant("d"), commutes=True), *_CHAIN_GUARDS)
def mul_chain(m: Match, e: Emitter) -> Value:
    """(x * c) * d is x * (c * d) for integers, which wrap around; floats round between."""
    return e.emit("mul", m["x"], e.fold("mul", m["c"], m["d"]))


REWRITES = (
    add_zero,
    sub_zero,
    mul_one,
    div_or_pow_one,
    mul_minus_one,
    div_by_power_of_two,
    one_over_x,
    pow_two,
    pow_three,
    pow_half,
    pow_of_roots,
    pow_four,
    pow_minus_one,
    neg_of_neg,
    abs_of_neg,
    add_neg,
    sub_neg,
    product_of_negs,
    sub_itself,
    mul_zero,
    add_chain,
    mul_chain,
)
