"""sinh, cosh and the inverse hyperbolic functions in float64, by identities that keep precision about 0.

Source of the identities: fdlibm.
"""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, copysign, magnitude, select, sqrt
from basalt.compiler.kernels.vmath_exp import quarter_expm1
from basalt.compiler.kernels.vmath_log import LN2, log1p

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh"]

# Below this, x itself is the nearest float64 to an odd function of slope 1.
TINY = 2.0**-28
# Above this, x + 1 is x in float64.
HUGE = 2.0**60


def _halves(x: Value) -> tuple[Value, Value]:
    """(h, (1 - e**-|x|) / 2) with h = (e**|x| - 1) / 2."""
    half = quarter_expm1(magnitude(x)) * 2.0
    finite = select(half > HUGE, HUGE, half)
    return half, finite / (finite * 2.0 + 1.0)


def sinh(x: Value) -> Value:
    """(e**x - e**-x) / 2."""
    rising, falling = _halves(x)
    return select(magnitude(x) < TINY, x, copysign(rising + falling, x))


def cosh(x: Value) -> Value:
    """(e**x + e**-x) / 2."""
    rising, falling = _halves(x)
    return (rising - falling) + 1.0


def asinh(x: Value) -> Value:
    """log(x + sqrt(x**2 + 1))."""
    size = magnitude(x)
    square = size * size
    near = size + square / (sqrt(square + 1.0) + 1.0)
    return select(size < TINY, x, copysign(_log1p(size > HUGE, size, near), x))


def acosh(x: Value) -> Value:
    """log(x + sqrt(x**2 - 1)); NaN below 1."""
    beyond = x - 1.0
    near = beyond + sqrt(beyond * (beyond + 2.0))
    return select(x < 1.0, float("nan"), _log1p(x > HUGE, x, near))


def _log1p(huge: Value, x: Value, near: Value) -> Value:
    """log(2 x) for a huge x, else log(1 + near)."""
    return log1p(select(huge, x, near)) + select(huge, x.lift(LN2), 0.0)


def atanh(x: Value) -> Value:
    """log((1 + x) / (1 - x)) / 2; infinite at 1 and -1, NaN beyond."""
    size = magnitude(x)
    value = log1p(size * 2.0 / (1.0 - size)) * 0.5
    return select(size < TINY, x, copysign(value, x))
