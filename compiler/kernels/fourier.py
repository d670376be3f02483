"""Micro-kernels of the fast Fourier transform: one pass over complex numbers in two planes.

A transform of length ``N = radix * m * s`` whose first factors, of product ``s``, are done already goes on by one pass
of Stockham's order: for each ``p < m`` and ``q < s``, the ``radix`` numbers ``x[q + s * (p + m * j)]`` are transformed,
turned by ``exp(-2i pi p k / (radix * m))``, and stored at ``y[q + s * (radix * p + k)]``. No reordering is left.

``fft_{radix}_{form}_{lanes}_{register}``. Forms whose lanes run over ``q``: ``wide``, and ``last`` where m is 1, so
that nothing is turned. Forms whose lanes run over ``q + s * p``: ``along1``, ``along2``, ``along4`` for that s, and
``place`` for any. ``pairs`` and ``turned`` are ``along1`` from numbers whose parts lie side by side, the latter with
the parts exchanged; ``window`` is ``pairs`` with each part times its factor.

Operands, counted in elements: ``x, real, imaginary, y, real, imaginary, factors, index, s, m``; for ``place`` also
``places, index``: where each element of a block goes, as int32; for ``window`` ``window, index``. The factors of
``wide`` are ``[m, radix - 1, 2]``; those of the others ``[blocks, radix - 1, 2, lanes]``. The last block ends where the
numbers end, and may overlap the one before it; there are at least as many numbers as lanes.

Sources: Stockham, "High-speed convolution and correlation", 1966; Temperton, "Self-sorting mixed-radix fast Fourier
transforms", 1983; Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import FLOATS, I8, I32, I64, Emitter, Recipe
from basalt.compiler.kernels.fourier_butterflies import Complex, butterfly, times
from basalt.compiler.kernels.fourier_shuffles import parted, stores
from basalt.compiler.kernels.lanes import Value
from basalt.compiler.kernels.loops import counted, micro_kernel

__all__ = ["recipe"]

_NAME = re.compile(r"fft_(\d+)_(wide|last|along1|along2|along4|place|pairs|turned|window)_(\d+)_(f32|f64)")
_EXTRA = {"place": 1, "window": 1}


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        from basalt.compiler.kernels import fourier_halves

        return fourier_halves.recipe(name)
    radix, form, lanes, register = match.groups()
    index, pointer = types.intp, types.voidptr
    extra = (pointer, index) * _EXTRA.get(form, 0)
    operands = (pointer, index, index, pointer, index, index, pointer, index, index, index, *extra)

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _Pass(int(radix), form, int(lanes), register, e, arguments).write()

    return micro_kernel(name, operands, write)


class _Pass:
    def __init__(self, radix: int, form: str, lanes: int, register: str, e: Emitter, a: Sequence[ir.Value]) -> None:
        self.radix, self.form, self.lanes, self.e, self.b = radix, form, lanes, e, e.b
        self.element = FLOATS[register].llvm
        self.bytes = FLOATS[register].bits // 8
        self.vector = ir.VectorType(self.element, lanes)
        x, real, imaginary, y, y_real, y_imaginary, factors, at, self.s, self.m, *extra = a
        self.source = [self.at(x, real), self.at(x, imaginary)]
        self.target = [self.at(y, y_real), self.at(y, y_imaginary)]
        self.factors = self.at(factors, at)
        self.extra = extra
        self.gap = self.b.mul(self.s, self.m)
        """From one number of a butterfly to the next."""

    def write(self) -> None:
        if self.form in ("wide", "last"):
            self._over_columns()
        else:
            self._over_all()

    def at(self, pointer: ir.Value, index: ir.Value) -> ir.Value:
        return self.b.gep(pointer, [index], source_etype=self.element)

    def load(self, place: ir.Value) -> Value:
        return Value(self.e, self.b.load(place, typ=self.vector, align=self.bytes))

    def store(self, value: Value, place: ir.Value) -> None:
        self.b.store(value.raw, place, align=self.bytes)

    def _over_columns(self) -> None:
        """Lanes over q; every number of one p is turned by the same factors."""
        b, size = self.b, I64(self.lanes)

        def each(p: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            start, end = b.mul(p, self.s), b.mul(b.mul(p, self.s), I64(self.radix))
            row = self.at(self.factors, b.mul(p, I64(2 * (self.radix - 1))))

            def block(q: ir.Value) -> None:
                results = butterfly(self._numbers(b.add(start, q)))
                if self.form == "wide":
                    results[1:] = self._turned_alike(results[1:], self._opaque(row))
                places = self._spread(self.target, b.add(end, q), self.s)
                for number, pair in zip(results, places):
                    for part, place in zip(number, pair):
                        self.store(part, place)

            def whole(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
                block(b.mul(i, size))
                return []

            count = b.udiv(self.s, size)
            counted(b, count, [], whole)
            with b.if_then(b.icmp_signed("!=", b.mul(count, size), self.s)):
                block(b.sub(self.s, size))
            return []

        counted(b, self.m, [], each)

    def _turned_alike(self, numbers: Sequence[Complex], row: ir.Value) -> list[Complex]:
        """Numbers times the factors of one p, which are read again each time: there are no registers to keep them."""
        found = []
        for k, number in enumerate(numbers):
            factor = Complex(*[self._splat(self.at(row, I64(2 * k + part))) for part in (0, 1)])
            found.append(times(number, factor))
        return found

    def _splat(self, place: ir.Value) -> Value:
        scalar = self.b.load(place, typ=self.element, align=self.bytes)
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.b.insert_element(undefined, scalar, I32(0))
        zeros = ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        return Value(self.e, self.b.shuffle_vector(first, undefined, zeros))

    def _numbers(self, place: ir.Value) -> list[Complex]:
        """What meets in the butterflies that begin at a vector of places."""
        return [Complex(*map(self.load, pair)) for pair in self._spread(self.source, place, self.gap)]

    def _spread(self, bases: Sequence[ir.Value], start: ir.Value, gap: ir.Value) -> list[tuple[ir.Value, ...]]:
        """The places ``start + j * gap`` in both planes.

        Every third is a pointer that LLVM can't see through: it would keep one for each place, of which most would lie
        on the stack. The others are one gap or two from it, which an address can say.
        """
        b, gap = self.b, self.b.mul(gap, I64(self.bytes))
        third, twice = b.mul(gap, I64(3)), b.shl(gap, I64(1))
        found, anchors = [], [self._opaque(self.at(base, start)) for base in bases]
        for j in range(self.radix):
            if j and j % 3 == 0:
                anchors = [self._opaque(self._byte(a, third)) for a in anchors]
            step = (None, gap, twice)[j % 3]
            found.append(tuple(a if step is None else self._byte(a, step) for a in anchors))
        return found

    def _byte(self, pointer: ir.Value, distance: ir.Value) -> ir.Value:
        return self.b.gep(pointer, [distance], source_etype=I8)

    def _opaque(self, pointer: ir.Value) -> ir.Value:
        """A pointer of which LLVM does not know where it comes from."""
        kind = ir.FunctionType(pointer.type, [pointer.type])
        return self.b.call(ir.InlineAsm(kind, "", "=r,0"), [pointer])

    def _over_all(self) -> None:
        """Lanes over q + s * p, each with its own factors."""
        b, size = self.b, I64(self.lanes)
        count = b.udiv(b.add(self.gap, I64(self.lanes - 1)), size)
        last = b.sub(self.gap, size)
        read = {"pairs": self._pairs, "turned": self._turned, "window": self._windowed}.get(self.form, self._numbers)
        write = self._to_places if self.form == "place" else self._to_neighbours

        def each(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            usual = b.mul(i, size)
            start = b.select(b.icmp_signed("<", usual, last), usual, last)
            factors = self.at(self.factors, b.mul(usual, I64(2 * (self.radix - 1))))
            results = butterfly(read(start))
            for k in range(1, self.radix):
                places = [self.at(factors, I64((2 * (k - 1) + part) * self.lanes)) for part in (0, 1)]
                results[k] = times(results[k], Complex(*map(self.load, places)))
            write(results, start, usual)
            return []

        counted(b, count, [], each)

    def _pairs(self, start: ir.Value) -> list[Complex]:
        """As :meth:`_numbers`, from real and imaginary parts side by side."""
        return [Complex(*parted(*pair)) for pair in self._read_pairs(self.source[0], start)]

    def _turned(self, start: ir.Value) -> list[Complex]:
        return [Complex(z.imaginary, z.real) for z in self._pairs(start)]

    def _windowed(self, start: ir.Value) -> list[Complex]:
        window = self.at(*self.extra)
        own, factors = (self._read_pairs(base, start) for base in (self.source[0], window))
        return [Complex(*parted(a * c, b * d)) for (a, b), (c, d) in zip(own, factors)]

    def _read_pairs(self, base: ir.Value, start: ir.Value) -> list[tuple[Value, Value]]:
        places = self._spread([base], self.b.shl(start, I64(1)), self.b.shl(self.gap, I64(1)))
        return [(self.load(first), self.load(self.at(first, I64(self.lanes)))) for (first,) in places]

    def _to_neighbours(self, results: Sequence[Complex], start: ir.Value, _: ir.Value) -> None:
        """Store runs of s elements of each result in turn."""
        run = int(self.form[5:]) if self.form.startswith("along") else 1
        first = self.b.mul(start, I64(self.radix))
        for part, base in enumerate(self.target):
            for offset, value in stores([z[part] for z in results], run):
                place = self.at(base, self.b.add(first, I64(offset)))
                self.b.store(value, place, align=self.bytes)

    def _to_places(self, results: Sequence[Complex], start: ir.Value, usual: ir.Value) -> None:
        b, places = self.b, self.extra
        for lane in range(self.lanes):
            entry = b.gep(places[0], [b.add(places[1], b.add(usual, I64(lane)))], source_etype=I32)
            place = b.sext(b.load(entry, typ=I32, align=4), I64)
            for k, number in enumerate(results):
                at = b.add(place, b.mul(self.s, I64(k)))
                for part, base in zip(number, self.target):
                    b.store(b.extract_element(part.raw, I32(lane)), self.at(base, at), align=self.bytes)
