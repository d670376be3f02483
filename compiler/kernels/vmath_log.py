"""log, log1p and softplus in float32: a power of two apart, log(1 + f) by a polynomial over -1/3 <= f < 1/3."""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, mad, polynomial, select
from basalt.compiler.kernels.vmath_exp import decay

__all__ = ["log", "log1p", "softplus"]

LN2 = 0.6931471805599453
MANTISSA = 23
ONE_BITS = 0x3F800000
TWO_THIRDS_BITS = 0x3F2AAAAB
SMALLEST_NORMAL = 2.0**-126
INFINITY = float("inf")
NAN = float("nan")

# log(1 + f) = f - f**2 / 2 + f**3 q(f): 2**-27.7 of f**3, a minimax fit of this project
LOG1P = (
    0.3333321511745453, -0.2499978393316269, 0.20010477304458618, -0.16681215167045593,
    0.14004430174827576, -0.12172779440879822, 0.13992628455162048, -0.12947429716587067,
)  # fmt: skip


def _exponent(x: Value) -> Value:
    """The e, as a float's exponent field, with 2/3 <= x / 2**e < 4/3."""
    return (x.bits() - TWO_THIRDS_BITS) & (-1 << MANTISSA)


def _log(f: Value, e: Value) -> Value:
    """log((1 + f) 2**e) for a float e."""
    square = f * f
    tail = mad(polynomial(f, LOG1P), f, -0.5)
    return mad(e, LN2, mad(tail, square, f))


def log(x: Value) -> Value:
    """Natural logarithm; -infinity for 0, NaN below."""
    subnormal = x < SMALLEST_NORMAL
    normal = select(subnormal, x * 2.0**23, x)
    field = _exponent(normal)
    e = (field >> MANTISSA).to_float() - select(subnormal, x.lift(23.0), 0.0)
    f = (normal.bits() - field).from_bits() - 1.0
    return _edges(x, _log(f, e))


def _edges(x: Value, inside: Value) -> Value:
    """`inside` for 0 < x < infinity, else the logarithm's limit."""
    outside = select(x.equals(0.0), x.lift(-INFINITY), NAN)
    return select(x > 0.0, select(x < INFINITY, inside, x), outside)


def log1p(x: Value) -> Value:
    """log(1 + x), with full relative precision about 0."""
    total = x + 1.0
    field = _exponent(total)
    # 1 + x = 2**e (1 + f): f comes from x, not from the rounded total.
    inverse = (ONE_BITS - field).call("llvm.smax", 0).from_bits()
    f = (x.bits() - field).from_bits() + (inverse - 1.0)
    inside = _log(f, (field >> MANTISSA).to_float())
    return select(x.equals(0.0), x, _edges(total, inside))


def softplus(x: Value) -> Value:
    """log(1 + e**x) = max(x, 0) + log(1 + e**-|x|), with full relative precision down to the subnormals."""
    power = decay(x)
    # 1 + d = 2**e (1 + f) with e = 0 or 1.
    upper = power > 1.0 / 3.0
    f = select(upper, mad(power, 0.5, -0.5), power)
    return select(x <= 0.0, 0.0, x) + _log(f, select(upper, x.lift(1.0), 0.0))
