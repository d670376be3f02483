"""Transforms of a few complex numbers in registers, lane by lane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from basalt.compiler.kernels.lanes import Value, mad

__all__ = ["Complex", "butterfly", "times"]

_HALF = math.sqrt(0.5)


class Complex(NamedTuple):
    """Real and imaginary parts."""

    real: Value
    imaginary: Value

    def plus(self, other: Complex) -> Complex:
        return Complex(self.real + other.real, self.imaginary + other.imaginary)

    def minus(self, other: Complex) -> Complex:
        return Complex(self.real - other.real, self.imaginary - other.imaginary)

    def scaled_plus(self, factor: float, other: Complex) -> Complex:
        """``factor * self + other``."""
        return Complex(mad(self.real, factor, other.real), mad(self.imaginary, factor, other.imaginary))


def times(z: Complex, w: Complex) -> Complex:
    """The product of two complex numbers."""
    real = mad(z.real, w.real, -(z.imaginary * w.imaginary))
    return Complex(real, mad(z.real, w.imaginary, z.imaginary * w.real))


def butterfly(z: Sequence[Complex]) -> list[Complex]:
    """The transform, with ``exp(-2i pi j k / len(z))``, of 2, 4, 8 or an odd number of complex numbers."""
    if len(z) == 2:
        return [z[0].plus(z[1]), z[0].minus(z[1])]
    if len(z) == 4:
        return _four(*z)
    return _eight(z) if len(z) == 8 else _odd(z)


def _four(a: Complex, b: Complex, c: Complex, d: Complex) -> list[Complex]:
    even, even_difference = a.plus(c), a.minus(c)
    odd, difference = b.plus(d), b.minus(d)
    # A quarter turn is an exchange of parts, one of them with its sign changed.
    first = Complex(even_difference.real + difference.imaginary, even_difference.imaginary - difference.real)
    last = Complex(even_difference.real - difference.imaginary, even_difference.imaginary + difference.real)
    return [even.plus(odd), first, even.minus(odd), last]


def _eight(z: Sequence[Complex]) -> list[Complex]:
    even, odd = _four(*z[::2]), _four(*z[1::2])
    # An eighth of a turn: sums and differences of the parts, times the root of a half.
    one = Complex(odd[1].real + odd[1].imaginary, odd[1].imaginary - odd[1].real)
    three = Complex(odd[3].imaginary - odd[3].real, -(odd[3].real + odd[3].imaginary))
    low = [
        even[0].plus(odd[0]),
        one.scaled_plus(_HALF, even[1]),
        Complex(even[2].real + odd[2].imaginary, even[2].imaginary - odd[2].real),
        three.scaled_plus(_HALF, even[3]),
    ]
    high = [
        even[0].minus(odd[0]),
        one.scaled_plus(-_HALF, even[1]),
        Complex(even[2].real - odd[2].imaginary, even[2].imaginary + odd[2].real),
        three.scaled_plus(-_HALF, even[3]),
    ]
    return low + high


def _odd(z: Sequence[Complex]) -> list[Complex]:
    """By the symmetry of cosines and sines: numbers equally far from both ends meet in a sum and a difference."""
    radix, half = len(z), len(z) // 2
    pairs = [(z[j].plus(z[radix - j]), z[j].minus(z[radix - j])) for j in range(1, half + 1)]
    first = z[0]
    for total, _ in pairs:
        first = first.plus(total)
    results = [first] * radix
    for k in range(1, half + 1):
        centre, side = z[0], None
        for j, (total, difference) in enumerate(pairs, 1):
            angle = 2 * math.pi * (j * k % radix) / radix
            centre = total.scaled_plus(math.cos(angle), centre)
            turned, sine = Complex(difference.imaginary, difference.real), math.sin(angle)
            scaled = Complex(turned.real * sine, turned.imaginary * sine)
            side = scaled if side is None else turned.scaled_plus(sine, side)
        assert side is not None
        results[k] = Complex(centre.real + side.real, centre.imaginary - side.imaginary)
        results[radix - k] = Complex(centre.real - side.real, centre.imaginary + side.imaginary)
    return results
