"""Short transforms of complex numbers by passes of radix 2, 3, 4 and 5 (Stockham's order; Temperton 1983).

The error of a pass is that of a few sums, so that what cancels exactly leaves less than in a sum over the whole signal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..node import NodeContext
from ..tensor import Tensor

__all__ = ["by_passes", "radices"]

LONGEST = 16


class Complex(NamedTuple):
    """Real and imaginary parts."""

    real: Tensor
    imaginary: Tensor


def radices(length: int) -> list[int] | None:
    """The passes of a transform, None where there are none for it."""
    if not 1 <= length <= LONGEST:
        return None
    found = []
    for radix in (4, 2, 3, 5):
        while length % radix == 0:
            found.append(radix)
            length //= radix
    if length > 1:
        return None
    if 2 in found:
        found.remove(2)
        found.insert(0, 2)
    return found


def by_passes(n: NodeContext, x: Tensor, inverse: bool) -> Tensor:
    """The transform along the last axis but one of ``[..., length, 2]``, divided by the length if it is the inverse."""
    *outer, length, _ = x.shape
    (size,) = n.static(length)
    real, imaginary = (n.reshape(n.slice(x, x.rank - 1, i, 1), (*outer, size)) for i in (0, 1))
    z = Complex(real, imaginary)
    done = 1
    for radix in radices(size) or ():
        z = _pass(n, z, size, done, radix, inverse)
        done *= radix
    if inverse:
        z = Complex(*[n.emit("mul", t, n.scalar(1.0 / size, t)) for t in z])
    return n.emit("concat", *[n.reshape(t, (*outer, size, 1)) for t in z], axis=len(outer) + 1)


def _pass(n: NodeContext, z: Complex, size: int, done: int, radix: int, inverse: bool) -> Complex:
    """Transforms of ``radix`` numbers each, then the turn that puts them at their place among all."""
    outer = z.real.shape[:-1]
    rank = len(outer)
    rest = size // (done * radix)
    tables = [n.reshape(t, (*outer, done, radix, rest)) for t in z]
    numbers = [Complex(*[n.slice(t, rank + 1, j, 1) for t in tables]) for j in range(radix)]
    sign = 1.0 if inverse else -1.0
    results = _BUTTERFLIES[radix](_Arithmetic(n), numbers, sign)
    turned = [_turned(n, r, size, done, rest, j, sign) for j, r in enumerate(results)]
    joined = [n.emit("concat", *parts, axis=rank + 1) for parts in zip(*turned)]
    order = (*range(rank), rank + 1, rank, rank + 2)
    return Complex(*[n.reshape(n.transpose(t, order), (*outer, size)) for t in joined])


def _turned(n: NodeContext, z: Complex, size: int, done: int, rest: int, j: int, sign: float) -> Complex:
    """The j-th results times the powers of the root of unity that their places ask for."""
    if rest == 1 or j == 0:
        return z
    angles = sign * 2 * np.pi * (j * done * np.arange(rest) % size) / size
    cos, sin = (n.constant(t, z.real.dtype) for t in (np.cos(angles), np.sin(angles)))
    real = n.emit("sub", n.emit("mul", z.real, cos), n.emit("mul", z.imaginary, sin))
    return Complex(real, n.emit("add", n.emit("mul", z.real, sin), n.emit("mul", z.imaginary, cos)))


class _Arithmetic:
    """Sums and multiples of complex numbers."""

    def __init__(self, n: NodeContext) -> None:
        self._n = n

    def add(self, a: Complex, b: Complex) -> Complex:
        return Complex(*[self._n.emit("add", x, y) for x, y in zip(a, b)])

    def sub(self, a: Complex, b: Complex) -> Complex:
        return Complex(*[self._n.emit("sub", x, y) for x, y in zip(a, b)])

    def scale(self, a: Complex, factor: float) -> Complex:
        return Complex(*[self._n.emit("mul", x, self._n.scalar(factor, x)) for x in a])

    def quarter(self, a: Complex, sign: float) -> Complex:
        """Turned by a quarter: ``i * a`` or ``-i * a``."""
        if sign > 0:
            return Complex(self._n.emit("neg", a.imaginary), a.real)
        return Complex(a.imaginary, self._n.emit("neg", a.real))


def _two(a: _Arithmetic, z: Sequence[Complex], sign: float) -> list[Complex]:
    return [a.add(z[0], z[1]), a.sub(z[0], z[1])]


def _three(a: _Arithmetic, z: Sequence[Complex], sign: float) -> list[Complex]:
    total, difference = a.add(z[1], z[2]), a.sub(z[1], z[2])
    centre = a.add(z[0], a.scale(total, -0.5))
    side = a.quarter(a.scale(difference, math.sqrt(0.75)), sign)
    return [a.add(z[0], total), a.add(centre, side), a.sub(centre, side)]


def _four(a: _Arithmetic, z: Sequence[Complex], sign: float) -> list[Complex]:
    even, even_difference = a.add(z[0], z[2]), a.sub(z[0], z[2])
    odd, side = a.add(z[1], z[3]), a.quarter(a.sub(z[1], z[3]), sign)
    return [a.add(even, odd), a.add(even_difference, side), a.sub(even, odd), a.sub(even_difference, side)]


def _five(a: _Arithmetic, z: Sequence[Complex], sign: float) -> list[Complex]:
    outer, outer_difference = a.add(z[1], z[4]), a.sub(z[1], z[4])
    inner, inner_difference = a.add(z[2], z[3]), a.sub(z[2], z[3])
    angle = 2 * math.pi / 5
    results = [a.add(a.add(z[0], outer), inner)]
    pairs = []
    for first, second in ((1, 2), (2, 4)):
        centre = a.add(a.add(z[0], a.scale(outer, math.cos(first * angle))), a.scale(inner, math.cos(second * angle)))
        sines = (math.sin(first * angle), math.sin(second * angle))
        side = a.add(a.scale(outer_difference, sines[0]), a.scale(inner_difference, sines[1]))
        pairs.append((centre, a.quarter(side, sign)))
    sums, differences = [a.add(c, s) for c, s in pairs], [a.sub(c, s) for c, s in pairs]
    return [*results, *sums, *differences[::-1]]


_BUTTERFLIES: dict[int, Callable[[_Arithmetic, Sequence[Complex], float], list[Complex]]] = {
    2: _two,
    3: _three,
    4: _four,
    5: _five,
}
