"""exp, expm1, sigmoid and tanh, by Cody and Waite's reduction to |r| <= log(2) / 2.

Bounds are written as minima and maxima that keep NaN, of one instruction each. The polynomials are minimax fits of this
project: Remez' exchange; for float32 the coefficients were then rounded one after another, and the rest fitted again.
The comment beside each gives its relative error.
"""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, copysign, mad, magnitude, polynomial, select
from basalt.compiler.kernels.vmath_format import format_of, nearest, power_of_two, scale, scale_down

__all__ = ["decay", "exp", "expm1", "fall", "quarter_expm1", "reduce", "sigmoid", "tanh"]

LOG2_E = 1.4426950408889634

# exp(r): 2**-28.2 and 2**-57.9
EXP = {
    "f32": (
        1.0, 1.0, 0.4999999403953552, 0.16666516661643982, 0.04166810214519501, 0.008369192481040955,
        0.001383890281431377,
    ),
    "f64": (
        1.0, 1.0, 0.5000000000000011, 0.16666666666666413, 0.041666666666530155, 0.008333333333494466,
        0.001388888894363019, 0.00019841269506569315, 2.4801493098818967e-05, 2.755758638262769e-06,
        2.763024841180666e-07, 2.500005871670478e-08,
    ),
}  # fmt: skip
# (expm1(r) - r) / r**2: 2**-31.0 and 2**-61.7 of expm1
EXPM1 = {
    "f32": (
        0.5, 0.1666666567325592, 0.04166646674275398, 0.008333643898367882, 0.0013935035094618797,
        0.00019662376143969595,
    ),
    "f64": (
        0.5, 0.16666666666666677, 0.04166666666666651, 0.008333333333321695, 0.0013888888888962312,
        0.00019841269885959028, 2.48015871726342e-05, 2.7557244380549848e-06, 2.7557402574068993e-07,
        2.5108976822642815e-08, 2.087534834185124e-09,
    ),
}  # fmt: skip
# sigmoid rounds to 1 from here on.
SIGMOID_ONE = 40.0
# tanh rounds to 1 from here on.
TANH_ONE = {"f32": 10.0, "f64": 20.0}
# expm1 rounds to -1 from here down.
EXPM1_MINUS_ONE = {"f32": -18.0, "f64": -38.0}


def reduce(x: Value, bias: int) -> tuple[Value, Value]:
    """(n + bias, r) with x = n log(2) + r; the sum in the lowest bits of an integer."""
    n, rounded = nearest(x, LOG2_E, bias)
    high, low = format_of(x).ln2
    return n, mad(rounded, -low, mad(rounded, -high, x))


def exp(x: Value) -> Value:
    """e**x; overflows to infinity and underflows through the subnormals to 0."""
    form = format_of(x)
    bounded = select(x > form.overflow, form.overflow, x)
    n, r = reduce(select(bounded < form.underflow, form.underflow, bounded), 2 * form.bias)
    return scale(polynomial(r, EXP[form.name]), n)


def fall(x: Value) -> Value:
    """e**x for an x of at most 0, bit by bit that of :func:`exp`."""
    form = format_of(x)
    n, r = reduce(select(x < form.underflow, form.underflow, x), form.lifted_bias)
    return scale_down(polynomial(r, EXP[form.name]), n)


def quarter_expm1(x: Value) -> Value:
    """(e**x - 1) / 4, which does not overflow before sinh does; inexact for subnormal x."""
    form = format_of(x)
    lowest, highest = EXPM1_MINUS_ONE[form.name], form.overflow + 0.5
    bounded = select(x < lowest, lowest, x)
    n, r = reduce(select(bounded > highest, highest, bounded), form.bias - 2)
    small = mad(polynomial(r, EXPM1[form.name]), r * r, r)
    quarter = power_of_two(n, form)
    return mad(small, quarter, quarter - 0.25)


def expm1(x: Value) -> Value:
    """e**x - 1, with full relative precision about 0."""
    return select(magnitude(x) < 2.0 ** -(format_of(x).fraction + 2), x, quarter_expm1(x) * 4.0)


def decay(x: Value) -> Value:
    """e**-|x|."""
    form = format_of(x)
    size = magnitude(x)
    n, r = reduce(-select(size > -form.underflow, -form.underflow, size), form.lifted_bias)
    return scale_down(polynomial(r, EXP[form.name]), n)


def sigmoid(x: Value) -> Value:
    """1 / (1 + e**-x), with full relative precision down to the subnormals.

    e**-x = 2**n (1 + small). What the sum of 1 and 2**n lacks (Dekker, 1971) is added to the rest of it. All of it is
    scaled, so that neither the sum nor its reciprocal leave the normal numbers before the end.
    """
    form = format_of(x)
    lift = form.bias // 2
    bounded = select(x < form.underflow, form.underflow, x)
    bounded = select(bounded > SIGMOID_ONE, SIGMOID_ONE, bounded)
    n, rounded = nearest(bounded, -LOG2_E, form.bias - lift)
    high, low = form.ln2
    # The negative of what e**-x is reduced to.
    r = mad(rounded, low, mad(rounded, high, bounded))
    factors = [-c if i % 2 == 0 else c for i, c in enumerate(EXP[form.name][1:])]
    small = polynomial(r, factors) * r
    power, one = power_of_two(n, form), x.lift(2.0**-lift)
    base = one + power
    total = mad(small, power, one - (base - power)) + base
    return (1.0 / total) * 2.0**-lift


def tanh(x: Value) -> Value:
    """(1 - d) / (1 + d) with d = e**(-2|x|), to full relative precision about 0.

    Both come from d - 1 and a power of two, and are rounded once.
    """
    form = format_of(x)
    lowest, falling = -TANH_ONE[form.name], -magnitude(x)
    bounded = select(falling < lowest, lowest, falling)
    n, rounded = nearest(bounded, 2.0 * LOG2_E, form.bias)
    high, low = form.ln2
    # 2 r, exactly, is what e**x is reduced to.
    r = mad(rounded, -0.5 * low, mad(rounded, -0.5 * high, bounded))
    factors = [coefficient * 2.0 ** (i + 2) for i, coefficient in enumerate(EXPM1[form.name])]
    small = mad(polynomial(r, factors), r * r, r + r)
    power = power_of_two(n, form)
    return copysign(mad(small, power, power - 1.0) / mad(small, power, power + 1.0), x)
