"""erf, erfc and gelu in float32.

erf needs float32 arithmetic only. The tail of the normal distribution is exp(-s) times a slowly varying ratio, and exp
multiplies the rounding error of s = a**2 by s: all but the power itself is float64 there.

The fits are this project's: Remez' exchange, then a descent over neighbouring float32 coefficients; Lawson's iteration
for the rational ones. The comment beside each gives its relative error.
"""

from __future__ import annotations

from collections.abc import Sequence

from basalt.compiler.kernels.lanes import Value, copysign, mad, magnitude, polynomial, quotient, select
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
# erfc(a) = exp(-a**2) p(a) / q(a) for 0 <= a <= 10.2: 2**-27.3
ERFC = (
    (1.000000005843739, 1.2392522214371464, 0.7324863070585922, 0.22963948346337842, 0.032884888346507296),
    (1.0, 2.367631977493667, 2.4040634077691276, 1.3270154278244397, 0.40705138407788677, 0.05828626232641851),
)
# Phi(-a) = exp(-a**2 / 2) p(a) / q(a) for 0 <= a <= 14.6: 2**-27.3
NORMAL = (
    (0.500000002990381, 0.4384967070148205, 0.18338478837469616, 0.04068372622971292, 0.004123819270104178),
    (1.0, 1.674878400333754, 1.203124350135454, 0.46986574064166653, 0.10198535698571685, 0.010336763924440207),
)
LOG2_E = 1.4426950408889634


def erf(x: Value) -> Value:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    square = x * x
    small = mad(polynomial(square, ERF_SMALL), x, x)
    size = magnitude(x)
    bounded = select(size > 4.0, 4.0, size)
    exponent = -polynomial(bounded, ERF_LARGE)
    n, rounded = nearest(exponent)
    large = 1.0 - polynomial(exponent - rounded, EXP2) * power_of_two(n, SINGLE)
    return select(size < ERF_SWITCH, small, copysign(large, x))


def _tail(factor: Value, a: Value, square: Value, ratio: tuple[Sequence[float], Sequence[float]]) -> Value:
    """factor * exp(-square) p(a) / q(a) in float64, with (p, q) = `ratio`, to 2**-24."""
    exponent = square * -LOG2_E
    n, rounded = nearest(exponent)
    fraction = (exponent - rounded).single()
    growth = (polynomial(fraction, EXP2[1:]) * fraction).double()
    p, q = (polynomial(a, coefficients) for coefficients in ratio)
    ratio_of_a = quotient(p, q)
    # The factor comes last: it may be a zero whose sign counts.
    value = mad(ratio_of_a, growth, ratio_of_a) * factor
    return (value.bits() + (n << 52)).from_bits()


def erfc(x: Value) -> Value:
    """1 - erf(x), with full relative precision down to the subnormals."""
    size = magnitude(x)
    a = select(size > 10.2, 10.2, size).double()
    tail = _tail(a.lift(1.0), a, a * a, ERFC)
    return select(x < 0.0, 2.0 - tail, tail).single()


def gelu(x: Value) -> Value:
    """x Phi(x) = x (1 + erf(x / sqrt(2))) / 2, with full relative precision down to the subnormals."""
    size = magnitude(x)
    a = select(size > 14.6, 14.6, size).double()
    tail = _tail(-a, a, a * a * 0.5, NORMAL).single()
    return select(x < 0.0, tail, x + tail)
