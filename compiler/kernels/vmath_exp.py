"""exp, expm1, sigmoid, tanh and their kin in float32, by Cody and Waite's reduction to |r| <= log(2) / 2.

The polynomials are minimax fits of this project (Remez' exchange, coefficients rounded to float32 one after another
and the rest fitted again); the comment beside each gives its relative error.
"""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, copysign, fma, mad, magnitude, polynomial, select

__all__ = ["exp", "expm1", "sigmoid", "tanh"]

LOG2_E = 1.4426950408889634
# log(2) in two parts; the first has so few bits that its product with any exponent is exact.
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
# Adding 1.5 * 2**23 leaves a float32's nearest integer in its lowest bits.
SHIFTER = 12582912.0
BIAS = 127 << 23
EXPONENT = 0x7F800000

# exp(r) = 1 + r + r**2 q(r): 2**-28.2
EXP = (
    1.0, 1.0, 0.4999999403953552, 0.16666516661643982, 0.04166810214519501, 0.008369192481040955,
    0.001383890281431377,
)  # fmt: skip
# expm1(r) = r + r**2 q(r): 2**-31.0
EXPM1 = (
    0.5, 0.1666666567325592, 0.04166646674275398, 0.008333643898367882, 0.0013935035094618797,
    0.00019662376143969595,
)  # fmt: skip
# tanh(x) = x + x**3 q(x**2) for |x| <= 0.625: 2**-27.7
TANH = (
    -0.3333328068256378, 0.13331405818462372, -0.05373651534318924, 0.02062816731631756, -0.005692296661436558,
)  # fmt: skip
TANH_SWITCH = 0.625


def reduce(x: Value) -> tuple[Value, Value]:
    """(n, r) with x = n log(2) + r; the integer n is the low bits of the first value, whose high bits are SHIFTER's."""
    shifted = mad(x, LOG2_E, SHIFTER)
    n = shifted - SHIFTER
    return shifted.bits(), mad(n, -LN2_LOW, mad(n, -LN2_HIGH, x))


def scale(x: Value, n: Value) -> Value:
    """x * 2**n for -252 <= n <= 254, rounded once, by two factors; n as `reduce` gives it."""
    first = ((n << 22) & (EXPONENT - (1 << 32))) + BIAS
    second = (n << 23) - first + 2 * BIAS
    return x * first.from_bits() * second.from_bits()


def power_of_two(n: Value) -> Value:
    """2**n for -126 <= n <= 127."""
    return ((n << 23) + BIAS).from_bits()


def exp(x: Value) -> Value:
    """e**x; overflows to infinity and underflows through the subnormals to 0."""
    bounded = select(x > 89.0, 89.0, select(x < -104.0, -104.0, x))
    n, r = reduce(bounded)
    return scale(polynomial(r, EXP), n)


def _expm1_parts(x: Value) -> tuple[Value, Value]:
    """(n, expm1(r)) for x = n log(2) + r."""
    n, r = reduce(x)
    return n, mad(polynomial(r, EXPM1), r * r, r)


def expm1(x: Value) -> Value:
    """e**x - 1, with full relative precision about 0."""
    bounded = select(x > 89.0, 89.0, select(x < -18.0, -18.0, x))
    n, p = _expm1_parts(bounded)
    # Half the power of two, so that 2**128 does not overflow before its time.
    half = power_of_two(n - 1)
    doubled = mad(p, half, half - 0.5) * 2.0
    return select(magnitude(x) < 1e-9, x, doubled)


def decay(x: Value) -> Value:
    """e**-|x|."""
    bounded = select(magnitude(x) > 104.0, 104.0, magnitude(x))
    n, r = reduce(-bounded)
    return scale(polynomial(r, EXP), n)


def sigmoid(x: Value) -> Value:
    """1 / (1 + e**-x), with full relative precision down to the subnormals."""
    small = decay(x)
    quotient = select(x < 0.0, small, 1.0) / (small + 1.0)
    # Far below 0, d / (1 + d) = d - d (d / (1 + d)) spares the roundings of the sum and the division.
    return select(x < -1.0, fma(-small, quotient, small), quotient)


def tanh(x: Value) -> Value:
    """A polynomial about 0, elsewhere 1 - 2 / (e**(2|x|) + 1)."""
    square = x * x
    small = mad(polynomial(square, TANH), square * x, x)
    size = magnitude(x)
    bounded = select(size > 10.0, 10.0, size)
    n, r = reduce(bounded * 2.0)
    large = 1.0 - 2.0 / mad(polynomial(r, EXP), power_of_two(n), 1.0)
    return select(size < TANH_SWITCH, small, copysign(large, x))
