"""Micro-kernels around a Fourier transform: real signals as complex ones of half the length, parts side by side.

A real signal of even length ``n = 2 * h`` is transformed as ``h`` complex numbers; element ``k`` of its transform then
comes from elements ``k`` and ``h - k`` of theirs (Sorensen et al., "Real-valued fast Fourier transform algorithms",
1987). The way back is alike.

``fft_real_{lanes}_{register}``: operands ``x, real, imaginary, y, index, factors, index, scale, h``: from h numbers in
planes to h + 1 with their parts side by side. ``fft_half_{lanes}_{register}``: operands ``x, index, y, real, imaginary,
factors, index, scale, h``: the way back. Factors are ``[2, h]``, already times the scale; lanes are fewer than h, or 1.

``fft_join_{lanes}_{register}``: operands ``x, real, imaginary, y, index, scale, n``: numbers in planes times the scale,
parts side by side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import FLOATS, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.fourier_butterflies import Complex, times
from basalt.compiler.kernels.fourier_shuffles import joined, parted, reversed_lanes
from basalt.compiler.kernels.lanes import Value
from basalt.compiler.kernels.loops import counted, micro_kernel

__all__ = ["recipe"]

_NAME = re.compile(r"fft_(real|half|join)_(\d+)_(f32|f64)")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    kind, lanes, register = match.groups()
    index, pointer, number = types.intp, types.voidptr, FLOATS[register].type
    operands = {
        "real": (pointer, index, index, pointer, index, pointer, index, number, index),
        "half": (pointer, index, pointer, index, index, pointer, index, number, index),
        "join": (pointer, index, index, pointer, index, number, index),
    }

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _WRITERS[kind](int(lanes), register, e).write(arguments)

    return micro_kernel(name, operands[kind], write)


class _Memory:
    """Vectors and single numbers of one type in memory."""

    def __init__(self, lanes: int, register: str, e: Emitter) -> None:
        self.lanes, self.e, self.b = lanes, e, e.b
        self.element, self.bytes = FLOATS[register].llvm, FLOATS[register].bits // 8
        self.vector = ir.VectorType(self.element, lanes)

    def at(self, pointer: ir.Value, index: ir.Value) -> ir.Value:
        return self.b.gep(pointer, [index], source_etype=self.element)

    def load(self, pointer: ir.Value, index: ir.Value, *, one: bool = False) -> Value:
        kind = self.element if one else self.vector
        return Value(self.e, self.b.load(self.at(pointer, index), typ=kind, align=self.bytes))

    def store(self, value: Value, pointer: ir.Value, index: ir.Value) -> None:
        self.b.store(value.raw, self.at(pointer, index), align=self.bytes)

    def store_joined(self, number: Complex, pointer: ir.Value, index: ir.Value) -> None:
        """Numbers from ``index`` on, counted in pairs."""
        place = self.b.mul(index, I64(2))
        for i, value in enumerate(joined(*number)):
            self.store(value, pointer, self.b.add(place, I64(i * self.lanes)))

    def splat(self, scalar: ir.Value) -> Value:
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.b.insert_element(undefined, scalar, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return Value(self.e, self.b.shuffle_vector(first, undefined, zeros))


class _Join(_Memory):
    def write(self, a: Sequence[ir.Value]) -> None:
        x, real, imaginary, y, at, scale, n = a
        b, size, factor = self.b, I64(self.lanes), self.splat(scale)
        y = self.at(y, at)
        last = b.sub(n, size)

        def each(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            usual = b.mul(i, size)
            start = b.select(b.icmp_signed("<", usual, last), usual, last)
            parts = [self.load(x, b.add(base, start)) * factor for base in (real, imaginary)]
            self.store_joined(Complex(*parts), y, start)
            return []

        counted(b, b.udiv(b.add(n, I64(self.lanes - 1)), size), [], each)


class _Halves(_Memory):
    """Elements k and h - k, and as many behind and before them as there are lanes."""

    def write(self, a: Sequence[ir.Value]) -> None:
        b, size = self.b, I64(self.lanes)
        *_, factors, at, scale, h = a
        self.first(a, scale, h)
        factors = self.at(factors, at)
        half, last = self.splat(scale), b.sub(h, size)
        count = b.udiv(b.add(b.lshr(h, I64(1)), I64(self.lanes - 1)), size)

        def each(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            usual = b.add(b.mul(i, size), I64(1))
            k = b.select(b.icmp_signed("<", usual, last), usual, last)
            mirror = b.sub(b.sub(h, k), I64(self.lanes - 1))
            one, other = self.read(a, k), self.read(a, mirror)
            other = Complex(*map(reversed_lanes, other))
            total = Complex((one.real + other.real) * half, (one.imaginary - other.imaginary) * half)
            difference = Complex(one.real - other.real, one.imaginary + other.imaginary)
            factor = Complex(self.load(factors, k), self.load(factors, b.add(k, h)))
            turned = times(difference, factor)
            mirrored = Complex(total.real - turned.real, turned.imaginary - total.imaginary)
            self.put(a, k, total.plus(turned))
            self.put(a, mirror, Complex(*map(reversed_lanes, mirrored)))
            return []

        counted(b, count, [], each)

    def first(self, a: Sequence[ir.Value], scale: ir.Value, h: ir.Value) -> None:
        """What element 0 gives."""
        raise NotImplementedError

    def read(self, a: Sequence[ir.Value], k: ir.Value) -> Complex:
        raise NotImplementedError

    def put(self, a: Sequence[ir.Value], k: ir.Value, number: Complex) -> None:
        raise NotImplementedError


class _Real(_Halves):
    def first(self, a: Sequence[ir.Value], scale: ir.Value, h: ir.Value) -> None:
        x, real, imaginary, y, at = a[:5]
        b, y = self.b, self.at(y, at)
        u, v = self.load(x, real, one=True), self.load(x, imaginary, one=True)
        end = b.mul(h, I64(2))
        for place, value in ((I64(0), u + v), (I64(1), u.lift(0)), (end, u - v), (b.add(end, I64(1)), u.lift(0))):
            self.store(value, y, place)

    def read(self, a: Sequence[ir.Value], k: ir.Value) -> Complex:
        return Complex(*[self.load(a[0], self.b.add(base, k)) for base in a[1:3]])

    def put(self, a: Sequence[ir.Value], k: ir.Value, number: Complex) -> None:
        self.store_joined(number, self.at(a[3], a[4]), k)


class _Half(_Halves):
    def first(self, a: Sequence[ir.Value], scale: ir.Value, h: ir.Value) -> None:
        x, at, y, real, imaginary = a[:5]
        factor = Value(self.e, scale)
        u, v = self.load(x, at, one=True), self.load(x, self.b.add(at, self.b.mul(h, I64(2))), one=True)
        self.store((u + v) * factor, y, real)
        self.store((u - v) * factor, y, imaginary)

    def read(self, a: Sequence[ir.Value], k: ir.Value) -> Complex:
        place = self.b.add(a[1], self.b.mul(k, I64(2)))
        return Complex(*parted(self.load(a[0], place), self.load(a[0], self.b.add(place, I64(self.lanes)))))

    def put(self, a: Sequence[ir.Value], k: ir.Value, number: Complex) -> None:
        for part, base in zip(number, a[3:5]):
            self.store(part, a[2], self.b.add(base, k))


_WRITERS: dict[str, type[_Join] | type[_Real] | type[_Half]] = {"join": _Join, "real": _Real, "half": _Half}
