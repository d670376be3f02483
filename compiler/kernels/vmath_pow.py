"""pow: 2**(y log2(|x|)), the logarithm with some ten bits more than the result.

float32 computes in float64. float64 carries the logarithm as an unevaluated sum of two; there s = f / (2 + f) and
log(1 + f) = 2 s (1 + s**2 / 3 + s**4 q(s**2)), the terms before q in double precision. The polynomials are minimax fits
of this project (Remez' exchange). Special cases are those of C99, Annex F.9.4.4.
"""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, fma, mad, magnitude, polynomial, quotient, select
from basalt.compiler.kernels.rounding import rint
from basalt.compiler.kernels.vmath_erf import EXP2
from basalt.compiler.kernels.vmath_exp import EXP
from basalt.compiler.kernels.vmath_format import DOUBLE, format_of, nearest, scale
from basalt.compiler.kernels.vmath_log import exponent_field

__all__ = ["pow_"]

INFINITY = float("inf")
NAN = float("nan")

# log2((1 + s) / (1 - s)) / s in s**2: 2**-37.8
LOG2 = (2.8853900817900926, 0.9617966733333658, 0.5770835866759718, 0.41167261075815276, 0.34073220485972405)
# q above: 2**-66.3 of the logarithm
ATANH = (
    0.20000000000001128, 0.14285714285049217, 0.111111112600649, 0.09090892174361573, 0.07693379096531792,
    0.06628398669402821, 0.06598260643679947,
)  # fmt: skip
THIRD = (0.3333333333333333, 1.850371707708594e-17)
LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)
LN2 = 0.6931471805599453
# Exponents beyond this saturate whatever the base, and smaller ones keep products finite.
LARGEST_EXPONENT = 1e25

Pair = tuple[Value, Value]


def pow_(x: Value, y: Value) -> Value:
    """x to the power of y; NaN for a finite negative x and a y that is no integer."""
    size, wide = magnitude(x), format_of(x) is DOUBLE
    bound = x.lift(LARGEST_EXPONENT)
    exponent = select(y > bound, bound, select(y < -bound, -bound, y))
    value = _double(size, exponent) if wide else _single(size.double(), exponent.double())
    return _special(x, y, value)


def _single(size: Value, y: Value) -> Value:
    field = exponent_field(size)
    f = (size.bits() - field).from_bits() - 1.0
    s = quotient(f, f + 2.0)
    logarithm = mad(polynomial(s * s, LOG2), s, (field >> DOUBLE.fraction).to_float())
    power = _bounded(y * logarithm, 200.0)
    n, rounded = nearest(power)
    fraction = (power - rounded).single()
    value = mad(fraction, polynomial(fraction, EXP2[1:]), 1.0).double()
    return (value.bits() + (n << DOUBLE.fraction)).from_bits().single()


def _double(size: Value, y: Value) -> Value:
    high, low = _logarithm(size)
    product = y * high
    power = _bounded(product, 1100.0)
    rest = select(power.equals(product), fma(y, low, fma(y, high, -product)), 0.0)
    n, rounded = nearest(power, bias=2 * DOUBLE.bias)
    r = ((power - rounded) + rest) * LN2
    return scale(polynomial(r, EXP["f64"]), n)


def _bounded(x: Value, bound: float) -> Value:
    return select(x > bound, bound, select(x < -bound, -bound, x))


def _logarithm(size: Value) -> Pair:
    """log2 of a positive finite float64, to 2**-64."""
    subnormal = size < DOUBLE.smallest_normal
    normal = select(subnormal, size * 2.0**52, size)
    field = exponent_field(normal)
    e = (field >> DOUBLE.fraction).to_float() - select(subnormal, size.lift(52.0), 0.0)
    f = (normal.bits() - field).from_bits() - 1.0
    s, s_low = _divided(f)
    z = s * s
    z_low = mad(s * 2.0, s_low, fma(s, s, -z))
    third = z * THIRD[0]
    third_low = mad(z_low, THIRD[0], mad(z, THIRD[1], fma(z, THIRD[0], -third)))
    c, c_low = _sum(third, mad(z * z, polynomial(z, ATANH), third_low))
    s, s_low = s * 2.0, s_low * 2.0
    product = s * c
    product_low = mad(s, c_low, mad(s_low, c, fma(s, c, -product)))
    natural, natural_low = _sum(s, product)
    natural_low = natural_low + (s_low + product_low)
    scaled = natural * LOG2_E[0]
    scaled_low = mad(natural_low, LOG2_E[0], mad(natural, LOG2_E[1], fma(natural, LOG2_E[0], -scaled)))
    total, total_low = _sum(e, scaled)
    # A zero e is the smaller term, and the sum is then exact.
    return _sum(total, total_low + scaled_low)


def _divided(f: Value) -> Pair:
    """f / (2 + f) in two parts, for -0.3 <= f <= 0.42."""
    total = f + 2.0
    total_low = f - (total - 2.0)
    s = f / total
    return s, fma(-s, total_low, fma(-s, total, f)) / total


def _sum(x: Value, y: Value) -> Pair:
    """x + y and its rounding error, for |x| >= |y| or x = 0 (Dekker, 1971)."""
    total = x + y
    return total, y - (total - x)


def _special(x: Value, y: Value, value: Value) -> Value:
    size, half = magnitude(x), y * 0.5
    integer = rint(y).equals(y)
    odd = integer & ~rint(half).equals(half)
    zero, infinite = size.equals(0.0), size.equals(INFINITY)
    limit = select((y > 0.0) ^ zero, x.lift(INFINITY), 0.0)
    value = select(zero | infinite, limit, value)
    value = select(odd, value.call("llvm.copysign", x), value)
    value = select((x < 0.0) & ~integer & ~infinite, NAN, value)
    value = select(x.is_nan() | y.is_nan(), x + y, value)
    return select(x.equals(1.0) | y.equals(0.0), 1.0, value)
