"""erf, erfc and gelu in float32.

The tail of the normal distribution is exp(-s) times a slowly decaying function h. exp multiplies the rounding error of
s = a**2 by s, so s is reduced before it is rounded; the rounding errors of the quotient that h is are carried along.

The fits are this project's: Remez' exchange or, for the rational ones, Lawson's iteration, then a descent over
neighbouring float32 coefficients. The comment beside each gives its relative error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from basalt.compiler.kernels.lanes import Value, copysign, fma, mad, magnitude, paired_polynomial, polynomial, select
from basalt.compiler.kernels.vmath_exp import EXP, LOG2_E
from basalt.compiler.kernels.vmath_format import SINGLE, nearest, power_of_two

__all__ = ["erf", "erfc", "gelu"]

# erf(x) = x + x q(x**2) for |x| <= 0.9: 2**-26.0
ERF_SMALL = (
    0.12837915122509003, -0.3761250376701355, 0.11281921714544296,
    -0.026770493015646935, 0.004998959135264158, -0.0006020799628458917,
)  # fmt: skip
ERF_SWITCH = 0.9
# erf(x) = 1 - 2**-q(x) for 0.9 <= x <= 3.95: 2**-29.2
ERF_LARGE = (
    0.00025607310817576945, 1.6269986629486084, 0.9190830588340759, 0.15009404718875885,
    -0.03213896602392197, 0.004408290609717369, -0.0002844716655090451,
)  # fmt: skip
# 2**r for |r| <= 0.5: 2**-27.3
EXP2 = (
    1.0, 0.6931472420692444, 0.24022653698921204, 0.055502999573946,
    0.009617701172828674, 0.0013406643411144614, 0.00015594769502058625,
)  # fmt: skip


# What keeps powers of two normal until the end.
LIFT = 2.0 ** (SINGLE.lifted_bias - SINGLE.bias)


class Tail(NamedTuple):
    """h(a) = p(a) / (p(a) (1 + slope a) + a q(a)), in which q matters so little that its errors vanish.

    The function's other factor is exp(-a**2 / share).
    """

    share: float
    slope: float
    p: Sequence[float]
    q: Sequence[float]


# exp(a**2) erfc(a) for 0 <= a <= 10.2: 2**-26.8
ERFC = Tail(
    1.0,
    1.5,
    (1.0, 1.2392537593841553, 0.7324874401092529, 0.2296399623155594, 0.03288501501083374),
    (-0.3716203272342682, -0.1873016357421875, -0.0013536582700908184, 0.02970730885863304, 0.008958961814641953),
)
# 2 exp(a**2 / 2) Phi(-a) for 0 <= a <= 14.6: 2**-26.6
NORMAL = Tail(
    2.0,
    1.0,
    (1.0, 0.8769934177398682, 0.36677002906799316, 0.08136753737926483, 0.008247647434473038),
    (-0.2021150439977646, -0.04063870757818222, 0.02172870934009552, 0.012370278127491474, 0.0020891278982162476),
)


def erf(x: Value) -> Value:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    square = x * x
    small = mad(polynomial(square, ERF_SMALL), x, x)
    size = magnitude(x)
    bounded = select(size > 4.0, 4.0, size)
    exponent = -polynomial(bounded, ERF_LARGE)
    n, rounded = nearest(exponent, bias=SINGLE.bias)
    large = 1.0 - polynomial(exponent - rounded, EXP2) * power_of_two(n, SINGLE)
    return select(size < ERF_SWITCH, small, copysign(large, x))


def _quotient(a: Value, tail: Tail) -> tuple[Value, Value, Value]:
    """h(a) as a float, what its product with the divisor lacks, and the divisor's inverse."""
    square = a * a
    p, q = paired_polynomial(a, square, tail.p), paired_polynomial(a, square, tail.q)
    line = mad(a, tail.slope, 1.0)
    line_lost = mad(a, tail.slope, 1.0 - line)
    main = p * line
    divisor = fma(a, q, main)
    divisor_lost = fma(p, line, -main) + fma(a, q, main - divisor)
    inverse = 1.0 / divisor
    value = p * inverse
    rest = fma(-value, divisor, p)
    return value, fma(-value, mad(p, line_lost, divisor_lost), rest), inverse


def _fall(a: Value, share: float) -> tuple[Value, Value]:
    """(power, growth) with exp(-a**2 / share) = power (1 + growth) / LIFT, for results down to 2**-177."""
    n, rounded = nearest(a * a, -LOG2_E / share, SINGLE.lifted_bias)
    high, low = (share * part for part in SINGLE.ln2)
    # -share times what the exponent is reduced to; `rounded * high` is exact.
    r = mad(rounded, low, fma(a, a, rounded * high))
    factors = [c * (-1.0 / share) ** i for i, c in enumerate(EXP["f32"])]
    return power_of_two(n, SINGLE), polynomial(r, factors[1:]) * r


def _tail(a: Value, tail: Tail) -> tuple[Value, Value, Value]:
    """(value, lost, power) with exp(-a**2 / share) h(a) = (value + lost) power / LIFT."""
    power, growth = _fall(a, tail.share)
    value, rest, inverse = _quotient(a, tail)
    return value, mad(value, growth, rest * mad(inverse, growth, inverse)), power


def erfc(x: Value) -> Value:
    """1 - erf(x), with full relative precision down to the subnormals."""
    size = magnitude(x)
    value, lost, power = _tail(select(size > 10.2, 10.2, size), ERFC)
    tail = (value + lost) * power * (1.0 / LIFT)
    return select(x < 0.0, 2.0 - tail, tail)


def gelu(x: Value) -> Value:
    """x Phi(x) = x (1 + erf(x / sqrt(2))) / 2, with full relative precision down to the subnormals.

    It is max(x, 0) - |x| Phi(-|x|). One rounding keeps the sign of what becomes 0 below; without, -0 does.
    """
    size = magnitude(x)
    a = select(size > 14.6, 14.6, size)
    value, lost, power = _tail(a, NORMAL)
    factor = a * power
    none = 0.0 if x.e.features.fma else -0.0
    return mad(mad(value, factor, lost * factor), -0.5 / LIFT, select(x < 0.0, none, x))
