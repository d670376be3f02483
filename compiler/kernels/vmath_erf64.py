"""erf, erfc and gelu in float64: a polynomial about 0, elsewhere exp(-s) times a rational function.

The fits are this project's: Remez' exchange, and Lawson's iteration for the rational ones. The comment beside each
gives its relative error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from basalt.compiler.kernels.lanes import Value, copysign, fma, mad, magnitude, polynomial, select
from basalt.compiler.kernels.vmath_exp import EXPM1, reduce
from basalt.compiler.kernels.vmath_format import DOUBLE, scale

__all__ = ["erf", "erfc", "gelu"]

Ratio = tuple[Sequence[float], Sequence[float]]

# erf(x) = x + x q(x**2) for |x| <= 0.9: 2**-60.5
ERF_SMALL = (
    0.1283791670955126, -0.37612638903183726, 0.11283791670953704, -0.02686617064480663, 0.005223977621603178,
    -0.0008548326754917869, 0.00012055321042148469, -1.4925299738746675e-05, 1.6455213924670204e-06,
    -1.6275476079314038e-07, 1.4046047278661542e-08, -8.481850276120099e-10,
)  # fmt: skip
ERF_SWITCH = 0.9


class Tail(NamedTuple):
    """A slowly decaying h(a), by its reciprocal, whose variable part is small enough that its rounding errors vanish.

    For a <= switch, 1 / h(a) = start + a (near_base + p(a) / q(a)) with (p, q) = near; beyond,
    1 / h(a) = a (far_base + p(1/a) / q(1/a)) with (p, q) = far.
    """

    switch: float
    start: float
    near_base: float
    near: Ratio
    far_base: float
    far: Ratio


# exp(a**2) erfc(a) for 0 <= a <= 27.3: 2**-64.3, 2**-56.8
ERFC = Tail(
    2.25, 1.0, 1.125,
    (
        (
            0.0033791670955125625, 0.27839675907074185, 0.35321491719425746, 0.2218318998818682,
            0.08273504450456197, 0.01908443289754132, 0.0025625246178717148, 0.00015673286180608922,
            -4.2213892119004076e-10,
        ),
        (
            1.0, 1.5261791411341863, 1.1869796607039813, 0.5673369778068248, 0.17724270245336787,
            0.035830630465341594, 0.004332135036244389, 0.0002420518445817375,
        ),
    ),
    1.75,
    (
        (
            0.022453850906678754, 0.20245874975571335, 1.9339654470650531, 11.465953141419861, 48.34381059916702,
            141.16607294589232, 283.15117724674127, 361.54274238877883, 234.175628235303,
        ),
        (
            1.0, 9.016660473356087, 46.66186275236567, 154.76839065762087, 350.809484600259, 534.3073251514121,
            507.14807501152455, 234.16830600707593,
        ),
    ),
)  # fmt: skip
# exp(a**2 / 2) Phi(-a) for 0 <= a <= 38.7: 2**-64.0, 2**-57.1
NORMAL = Tail(
    3.25, 2.0, 1.5,
    (
        (
            0.09576912160573069, 0.3767725220764549, 0.30445706608408785, 0.12966647850369326, 0.03346858589470257,
            0.005387066398365258, 0.0005070406869104661, 2.1795741673269187e-05, -3.5403320839668783e-11,
        ),
        (
            1.0, 1.0810684655490856, 0.5953308947250111, 0.20149490403638257, 0.044579299985151664,
            0.006383201063890321, 0.0005467651572044661, 2.1650389377446154e-05,
        ),
    ),
    2.5,
    (
        (
            0.006628274632448049, 0.08386112858177396, 3.118324063624674, 34.57377292300933, 235.45737377166148,
            1037.7309805119414, 3046.901006290521, 5601.53743989773, 5173.855343147426,
        ),
        (
            1.0, 12.65202991232715, 92.28581972559014, 431.46052793942357, 1379.5914323181332, 2964.5463044114304,
            3970.6797897064416, 2586.8362521798667,
        ),
    ),
)  # fmt: skip


def _over(factor: Value | float, a: Value, tail: Tail) -> Value:
    """factor * h(a)."""
    near = a <= tail.switch
    variable = select(near, a, 1.0 / a)
    p, q = (
        polynomial(variable, [select(near, a.lift(c), d) for c, d in zip(*coefficients)])
        for coefficients in zip(tail.near, tail.far)
    )
    base = select(near, a.lift(tail.near_base), tail.far_base)
    return q * factor / mad(a, mad(q, base, p), select(near, q * tail.start, 0.0))


def _tail(factor: Value | float, a: Value, half: Value, tail: Tail) -> Value:
    """factor * exp(-a * half) h(a), with h = `tail`."""
    square = a * half
    n, r = reduce(-square, 2 * DOUBLE.bias)
    # exp multiplies the rounding error of the square by the square.
    r = r - fma(a, half, -square)
    growth = mad(polynomial(r, EXPM1["f64"]), r * r, r)
    value = _over(factor, a, tail)
    return scale(mad(value, growth, value), n)


def erf(x: Value) -> Value:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    small = mad(polynomial(x * x, ERF_SMALL), x, x)
    size = magnitude(x)
    a = select(size > 6.0, 6.0, size)
    return select(size < ERF_SWITCH, small, copysign(1.0 - _tail(1.0, a, a, ERFC), x))


def erfc(x: Value) -> Value:
    """1 - erf(x), with full relative precision down to the subnormals."""
    size = magnitude(x)
    a = select(size > 27.3, 27.3, size)
    tail = _tail(1.0, a, a, ERFC)
    return select(x < 0.0, 2.0 - tail, tail)


def gelu(x: Value) -> Value:
    """x Phi(x) = x (1 + erf(x / sqrt(2))) / 2, with full relative precision down to the subnormals."""
    size = magnitude(x)
    a = select(size > 38.7, 38.7, size)
    tail = _tail(-a, a, a * 0.5, NORMAL)
    return select(x < 0.0, tail, x + tail)
