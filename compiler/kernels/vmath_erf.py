"""erf, erfc and gelu in float32.

The tail of the normal distribution is exp(-s) times a slowly decaying function h. exp multiplies the rounding error of
s = a**2 by s, so that error is carried along, and so are those of the quotient that h is.

The fits are this project's: Remez' exchange or, for the rational ones, Lawson's iteration, then a descent over
neighbouring float32 coefficients. The comment beside each gives its relative error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from basalt.compiler.kernels.lanes import Value, copysign, fma, mad, magnitude, polynomial, select
from basalt.compiler.kernels.vmath_exp import EXPM1, reduce
from basalt.compiler.kernels.vmath_format import SINGLE, nearest, power_of_two, scale

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


class Tail(NamedTuple):
    """h(a) = p(a) / (p(a) (start + slope a) + a q(a)), in which q matters so little that its errors vanish."""

    start: float
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
# exp(a**2 / 2) Phi(-a) for 0 <= a <= 14.6: 2**-26.6
NORMAL = Tail(
    2.0,
    2.0,
    (0.5, 0.4384967088699341, 0.18338501453399658, 0.040683768689632416, 0.004123823717236519),
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


def _quotient(factor: Value | float, a: Value, tail: Tail) -> tuple[Value, Value]:
    """factor * h(a) as a float and what it lacks."""
    p, q = polynomial(a, tail.p), polynomial(a, tail.q) * a
    line = mad(a, tail.slope, tail.start)
    line_lost = fma(a, tail.slope, tail.start - line)
    main = p * line
    divisor = main + q
    divisor_lost = fma(p, line, -main) + (q - (divisor - main))
    dividend = p * factor
    inverse = 1.0 / divisor
    value = dividend * inverse
    rest = fma(-value, divisor, dividend) + fma(p, factor, -dividend)
    return value, fma(-value, mad(p, line_lost, divisor_lost), rest) * inverse


def _tail(factor: Value | float, a: Value, half: Value, tail: Tail) -> Value:
    """factor * exp(-a * half) h(a)."""
    square = a * half
    n, r = reduce(-square, 2 * SINGLE.bias)
    r = r - fma(a, half, -square)
    growth = mad(polynomial(r, EXPM1["f32"]), r * r, r)
    value, lost = _quotient(factor, a, tail)
    return scale(value + mad(value, growth, mad(lost, growth, lost)), n)


def erfc(x: Value) -> Value:
    """1 - erf(x), with full relative precision down to the subnormals."""
    size = magnitude(x)
    a = select(size > 10.2, 10.2, size)
    tail = _tail(1.0, a, a, ERFC)
    return select(x < 0.0, 2.0 - tail, tail)


def gelu(x: Value) -> Value:
    """x Phi(x) = x (1 + erf(x / sqrt(2))) / 2, with full relative precision down to the subnormals."""
    size = magnitude(x)
    a = select(size > 14.6, 14.6, size)
    tail = _tail(a, a, a * 0.5, NORMAL)
    return select(x < 0.0, -tail, x - tail)
