"""sin, cos and tan in float64, right for every argument however large; on scalars only, for the sake of a table.

The quarter turns in x are its product with 2/pi, of which a table holds, for every 16 exponents of x, the 212 bits
that matter: leading bits contribute whole turns only (Payne and Hanek, "Radian reduction for trigonometric
functions", 1983). The polynomials are minimax fits of this project (Remez' exchange).
"""

from __future__ import annotations

import functools

from llvmlite import ir

from basalt.compiler.kernels.emit import F64, I32, Emitter
from basalt.compiler.kernels.lanes import Value, fma, mad, magnitude, polynomial, select
from basalt.compiler.kernels.rounding import rint
from basalt.compiler.kernels.vmath_format import DOUBLE, nearest

__all__ = ["cos", "sin", "tan"]

# 2/pi in binary, this many places
PLACES = 1280
TWO_OVER_PI = (
    0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921C << 896
    | 0xFE1DEB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980F << 512
    | 0xEF2F118B5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D08 << 128
    | 0x56033046FC7B6BABF0CFBC209AF4361D
)
PARTS = 4
STEP = 16
# Exponents below this, and STEP more, need no leading bits dropped.
FIRST = 36
GROUPS = (1024 - FIRST) // STEP + 1
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)

# (sin(r) - r) / r**3 in r**2 for |r| <= pi/4: 2**-57.9 of sin
SIN = (
    -0.1666666666666663, 0.008333333333322005, -0.00019841269829495484, 2.755731358761675e-06,
    -2.5050742307622753e-08, 1.589590472937446e-10,
)  # fmt: skip
# (cos(r) - 1 + r**2 / 2) / r**4 in r**2 for |r| <= pi/4: 2**-63.9 of cos
COS = (
    0.041666666666666595, -0.0013888888888872895, 2.4801587288748207e-05, -2.7557314148628615e-07,
    2.0875696573187195e-09, -1.1358310516747552e-11,
)  # fmt: skip

Pair = tuple[Value, Value]


@functools.cache
def _table() -> tuple[float, ...]:
    """For each group of exponents, 2/pi without whole turns, times the power of two that x is divided by, in parts."""
    parts: list[float] = []
    for group in range(GROUPS):
        # The weight of x's last bit for the smallest x, then whole turns in units of the last place.
        lowest = FIRST + STEP * group - DOUBLE.fraction
        turn = 1 << (PLACES + 2 - lowest)
        rest = (TWO_OVER_PI + turn // 2) % turn - turn // 2
        scale = 1 << (PLACES - STEP * group)
        for _ in range(PARTS):
            parts.append(rest / scale)
            numerator, denominator = parts[-1].as_integer_ratio()
            rest -= numerator * (scale // denominator)
    return tuple(parts)


def _constants(e: Emitter, group: ir.Value) -> list[Value]:
    """The parts of 2/pi for a group of exponents."""
    module, name = e.b.module, "basalt.two_over_pi"
    table = module.globals.get(name)
    if table is None:
        type_ = ir.ArrayType(F64, GROUPS * PARTS)
        table = ir.GlobalVariable(module, type_, name)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(type_, list(_table()))
    base = e.b.mul(group, e.constant(group.type, PARTS))
    places = (e.b.add(base, e.constant(group.type, part)) for part in range(PARTS))
    return [Value(e, e.b.load(e.b.gep(table, [I32(0), place], inbounds=True))) for place in places]


def _sum(x: Value, y: Value) -> Pair:
    """x + y and its rounding error (Knuth)."""
    total = x + y
    virtual = total - x
    return total, (x - (total - virtual)) + (y - virtual)


def _product(x: Value, y: Value) -> Pair:
    product = x * y
    return product, fma(x, y, -product)


def _part_of_turn(x: Value) -> Value:
    """x modulo 4, exact."""
    return x - rint(x * 0.25) * 4.0


def _reduce(x: Value) -> tuple[Value, Pair]:
    """(n, r): x = n pi/2 + r with |r| <= pi/4 in two parts, n modulo 4 in the lowest bits of an integer."""
    field = (x.bits() >> DOUBLE.fraction) & 0x7FF
    group = (field - (DOUBLE.bias + FIRST)).call("llvm.smax", 0) >> 4
    scaled = (x.bits() - (group << (DOUBLE.fraction + 4))).from_bits()
    # Infinity and NaN have lost the exponent that tells them apart.
    scaled = select(magnitude(x) < float("inf"), scaled, float("nan"))
    first, second, third, fourth = _constants(x.e, group.raw)
    (p0, e0), (p1, e1), (p2, e2) = (_product(scaled, part) for part in (first, second, third))
    large, large_low = _sum(_part_of_turn(p0), _part_of_turn(e0))
    large, larger_low = _sum(large, _part_of_turn(p1))
    # The parts of a sum that is nearly whole decide: keep every bit of them.
    low, low_rest = _sum(large_low, larger_low)
    small, small_rest = _sum(e1, p2)
    small, rest = _sum(low, small)
    tail = (low_rest + small_rest) + rest + mad(scaled, fourth, e2)
    n, rounded = nearest(large)
    turns, turns_low = _sum(large - rounded, small)
    turns, turns_low = _sum(turns, turns_low + tail)
    r = turns * HALF_PI[0]
    r_low = mad(turns_low, HALF_PI[0], mad(turns, HALF_PI[1], fma(turns, HALF_PI[0], -r)))
    return n, (r, r_low)


def _sine(r: Value, low: Value) -> Value:
    square = r * r
    return r + mad(r * square, polynomial(square, SIN), mad(low, square * -0.5, low))


def _cosine(r: Value, low: Value) -> Value:
    square = r * r
    half = square * 0.5
    rounded = 1.0 - half
    lost = (1.0 - rounded) - half
    return rounded + (lost + mad(square * square, polynomial(square, COS), -(r * low)))


def _wave(x: Value, quarters: int) -> Value:
    """sin(x + quarters * pi/2)."""
    n, r = _reduce(x)
    quadrant = n + quarters
    value = select((quadrant & 1).equals(0), _sine(*r), _cosine(*r))
    return (value.bits() ^ ((quadrant & 2) << 62)).from_bits()


def sin(x: Value) -> Value:
    """Sine; NaN for infinities."""
    # The reduction turns -0 into +0, and its products lose the last bits of subnormals.
    return select(magnitude(x) < 2.0**-27, x, _wave(x, 0))


def cos(x: Value) -> Value:
    """Cosine; NaN for infinities."""
    return _wave(x, 1)


def tan(x: Value) -> Value:
    """Tangent; NaN for infinities."""
    n, r = _reduce(x)
    sine, cosine = _sine(*r), _cosine(*r)
    even = (n & 1).equals(0)
    # tan(r + pi/2) = -1 / tan(r)
    value = select(even, sine, -cosine) / select(even, cosine, sine)
    return select(magnitude(x) < 2.0**-27, x, value)
