"""asin, acos and atan in float64.

Arguments are reduced as in the Cephes library; the polynomials are minimax fits of this project (Remez' exchange), with
their relative error beside them.
"""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, copysign, mad, magnitude, polynomial, select, sqrt

__all__ = ["acos", "asin", "atan"]

# (asin(s) / s - 1) / s**2 in s**2 for |s| <= 1/2: 2**-59.9 of asin
ASIN = (
    0.1666666666666676, 0.07499999999970798, 0.04464285717461357, 0.03038194270771795, 0.022372214989127948,
    0.017351611992539553, 0.01398082074779232, 0.011398910902047163, 0.01078025900756124, 0.0037063881851208584,
    0.021707492301380516, -0.020999121755377412, 0.0326286586701302,
)  # fmt: skip
# (atan(t) / t - 1) / t**2 in t**2 for |t| <= tan(pi/8): 2**-59.4 of atan
ATAN = (
    -0.333333333333332, 0.19999999999953205, -0.14285714280162076, 0.11111110781921155, -0.09090897718280497,
    0.07692059589456386, -0.06663097707781755, 0.05847848110399598, -0.0503913896200642, 0.03806080458857085,
    -0.01790354853354098,
)  # fmt: skip
TAN_EIGHTH = 0.41421356237309503
TAN_THREE_EIGHTHS = 2.414213562373095
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)


def _arc_sine(size: Value) -> tuple[Value, Value]:
    """(far, y): asin(size) = y or, if far, pi/2 - 2 y."""
    far = size > 0.5
    square = select(far, (1.0 - size) * 0.5, size * size)
    s = select(far, sqrt(square), size)
    return far, mad(polynomial(square, ASIN), square * s, s)


def asin(x: Value) -> Value:
    """Inverse sine; NaN outside [-1, 1]."""
    far, near = _arc_sine(magnitude(x))
    return copysign(select(far, HALF_PI[0] - (near * 2.0 - HALF_PI[1]), near), x)


def acos(x: Value) -> Value:
    """Inverse cosine; NaN outside [-1, 1]."""
    far, near = _arc_sine(magnitude(x))
    negative = x < 0.0
    signed = copysign(near, x)
    inner = HALF_PI[0] - (signed - HALF_PI[1])
    doubled = near * 2.0
    outer = select(negative, HALF_PI[0] * 2.0 - (doubled - HALF_PI[1] * 2.0), doubled)
    return select(far, outer, inner)


def atan(x: Value) -> Value:
    """Inverse tangent."""
    size = magnitude(x)
    middle, far = size > TAN_EIGHTH, size > TAN_THREE_EIGHTHS
    over = select(far, size.lift(-1.0), select(middle, size - 1.0, size))
    under = select(far, size, select(middle, size + 1.0, 1.0))
    t = over / under
    square = t * t
    eighths = select(far, size.lift(1.0), select(middle, size.lift(0.5), 0.0))
    near = mad(polynomial(square, ATAN), square * t, mad(eighths, HALF_PI[1], t))
    return copysign(mad(eighths, HALF_PI[0], near), x)
