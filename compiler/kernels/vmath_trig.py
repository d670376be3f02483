"""sin, cos and tan in float32, right for every argument however large.

x = n pi/2 + r comes from the product of x with 2/pi in two float64, with the product's own rounding error. For large
x the leading bits of 2/pi would contribute whole turns only; constants without them take over (the idea of Payne and
Hanek, "Radian reduction for trigonometric functions", 1983). The polynomials are minimax fits of this project (Remez'
exchange, then a descent over neighbouring float32 coefficients); the comment beside each gives its relative error.
"""

from __future__ import annotations

from basalt.compiler.kernels.lanes import Value, fma, mad, magnitude, polynomial, quotient, select
from basalt.compiler.kernels.vmath_format import nearest

__all__ = ["cos", "sin", "tan"]

# 2/pi modulo whole turns of every multiple of 2**(limit - 23), for |x| from the limit up, in two parts.
TWO_OVER_PI = (0.6366197723675814, -3.935735335036497e-17)
BEYOND = (
    (2.0**50, (-4.119769120791653e-09, 2.8376220177865265e-25)),
    (2.0**76, (-1.5037965581288064e-16, 1.018166438749971e-32)),
    (2.0**102, (-5.434184107743751e-25, 3.8858987075186823e-41)),
)
HALF_PI = 1.5707963267948966
# A product near 2**50 has three bits of fraction, from which n is chosen: |r| may exceed pi/4 by an eighth.
# sin(r) = r + r**3 q(r**2): 2**-26.6
SIN = (-0.1666664183139801, 0.00833144411444664, -0.0001942814706126228)
# cos(r) = q(r**2): 2**-31.2
COS = (1.0, -0.5, 0.04166662320494652, -0.0013886340893805027, 2.4333279725397006e-05)
# tan(r) = r p(r**2) / q(r**2): 2**-33.6
TAN = (
    (1.0000000000770228, -0.11142975098253613, 0.0010798751913354944),
    (1.0, -0.4447630798366616, 0.01600086033848432),
)


def _reduce(x: Value) -> tuple[Value, Value]:
    """(n, r): x = n pi/2 + r with |r| <= 0.885, n modulo 4 in the lowest bits of an int64."""
    wide = x.double()
    high, low = (wide.lift(part) for part in TWO_OVER_PI)
    for limit, parts in BEYOND:
        beyond = magnitude(x) >= limit
        high, low = select(beyond, parts[0], high), select(beyond, parts[1], low)
    product = wide * high
    rest = fma(wide, low, fma(wide, high, -product))
    n, rounded = nearest(product + rest)
    return n, ((product - rounded) + rest) * HALF_PI


def _wave(x: Value, quarters: int) -> Value:
    """sin(x + quarters * pi/2)."""
    n, wide = _reduce(x)
    quadrant = n.narrow() + quarters
    r = wide.single()
    square = r * r
    sine = mad(polynomial(square, SIN), square * r, r)
    value = select((quadrant & 1).equals(0), sine, polynomial(square, COS))
    return (value.bits() ^ ((quadrant & 2) << 30)).from_bits()


def sin(x: Value) -> Value:
    """Sine; NaN for infinities."""
    # The reduction turns -0 into +0.
    return select(x.equals(0.0), x, _wave(x, 0))


def cos(x: Value) -> Value:
    """Cosine; NaN for infinities."""
    return _wave(x, 1)


def tan(x: Value) -> Value:
    """Tangent; NaN for infinities."""
    n, r = _reduce(x)
    square = r * r
    p, q = (polynomial(square, coefficients) for coefficients in TAN)
    even = (n.narrow() & 1).equals(0)
    # tan(r + pi/2) = -1 / tan(r)
    over, under = select(even, r * p, -q), select(even, q, r * p)
    return select(x.equals(0.0), x, quotient(over, under).single())
