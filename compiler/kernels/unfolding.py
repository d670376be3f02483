"""Windows over columns that are neighbours, unfolded: for each tap the elements that neighbouring windows meet.

``unfold_{vectors}x{lanes}_{register}_s{stride}`` writes, for each of some taps, a row of ``width = vectors * lanes``
elements::

    packed[at + tap * width + i] = image[index + tap * step + i * stride]

The operands, counted in elements: ``packed, at, image, index, stride, taps, step, dilation, low, high``. Only elements
``low <= tap * dilation + i * stride < high`` exist; 0 stands for others. Strides of 1 and 2 stand in the name; a 0
there is any other, read element by element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.vectors import VectorMemory, bytes_of

__all__ = ["recipe"]

_NAME = re.compile(r"unfold_(\d+)x(\d+)_(f32|f64)_(?:s([012])|line([12]))")
Row = Callable[[ir.Value, ir.Value, "tuple[ir.Value, ir.Value] | None"], None]
"""Writes a row, given its place, that of its first element, and the elements that exist if not all do."""


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for another name.
    """
    match = matched(_NAME, name)
    vectors, lanes, register, stride, phases = match.groups()
    index, pointer = types.intp, types.voidptr
    if phases:
        operands = (pointer, index, pointer, *[index] * 3)
        return micro_kernel(name, operands, partial(_write_line, (int(vectors), int(lanes)), register, int(phases)))
    operands = (pointer, index, pointer, *[index] * 7)

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _Unfolding(e, int(vectors), int(lanes), register, int(stride)).write(arguments)

    return micro_kernel(name, operands, write)


class _Unfolding:
    """Emits one of the primitives."""

    def __init__(self, e: Emitter, vectors: int, lanes: int, register: str, stride: int) -> None:
        self.e, self.b, self.register = e, e.b, register
        self.vectors, self.lanes, self.known = vectors, lanes, stride
        self.memory = VectorMemory(e, lanes, register)
        self.width = vectors * lanes

    def write(self, arguments: Sequence[ir.Value]) -> None:
        b = self.b
        packed, at, image, index, self.stride, self.taps, self.step, self.dilation, self.low, high = arguments
        self.high = high
        self.first = self.memory.at(packed, at, self.register), self.memory.at(image, index, self.register)
        reach = b.mul(b.sub(self.taps, I64(1)), self.dilation)
        # Vectors of a stride of 2 are read whole.
        span = I64(self.known * self.width) if self.known else b.add(b.mul(self.stride, I64(self.width - 1)), I64(1))
        inside = b.and_(b.icmp_signed("<=", self.low, I64(0)), b.icmp_signed("<=", b.add(reach, span), high))
        row = {0: self._any, 1: self._neighbours, 2: self._alternate}[self.known]
        with b.if_else(inside, likely=True) as (whole, part):
            with whole:
                self._rows(row, edges=False)
            with part:
                self._rows(row, edges=True)

    def _rows(self, row: Row, *, edges: bool) -> None:
        b = self.b

        def each(tap: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            target, source = carried
            met = None
            if edges:
                shift = b.mul(tap, self.dilation)
                met = b.sub(self.low, shift), b.sub(self.high, shift)
            row(target, source, met)
            return [
                self.memory.at(target, I64(self.width), self.register),
                self.memory.at(source, self.step, self.register),
            ]

        counted(b, self.taps, list(self.first), each)

    def _mask(self, met: tuple[ir.Value, ir.Value] | None, first: int) -> ir.Value | None:
        if met is None:
            return None
        low, high = (self.b.trunc(limit, I32) for limit in met)
        return self.memory.between(low, high, first)

    def _neighbours(self, target: ir.Value, source: ir.Value, met: tuple[ir.Value, ir.Value] | None) -> None:
        for i in range(0, self.width, self.lanes):
            value = self.memory.load(self._element(source, i), self.register, self._mask(met, i))
            self.b.store(value, self._element(target, i), align=32)

    def _alternate(self, target: ir.Value, source: ir.Value, met: tuple[ir.Value, ir.Value] | None) -> None:
        even = ir.Constant(ir.VectorType(I32, self.lanes), [2 * i for i in range(self.lanes)])
        for i in range(0, self.width, self.lanes):
            places = [2 * i, 2 * i + self.lanes]
            halves = [self.memory.load(self._element(source, p), self.register, self._mask(met, p)) for p in places]
            self.b.store(self.b.shuffle_vector(*halves, even), self._element(target, i), align=32)

    def _any(self, target: ir.Value, source: ir.Value, met: tuple[ir.Value, ir.Value] | None) -> None:
        b, element = self.b, self.memory.element
        if met is not None:
            for i in range(0, self.width, self.lanes):
                b.store(self.e.constant(self.memory.vector, 0), self._element(target, i), align=32)
        for i in range(self.width):
            ahead = b.mul(self.stride, I64(i))
            place, own = self.memory.at(source, ahead, self.register), self._element(target, i)
            if met is not None:
                there = b.and_(b.icmp_signed("<=", met[0], ahead), b.icmp_signed("<", ahead, met[1]))
                # What does not exist is the zero that is stored already.
                place = b.select(there, place, own)
            b.store(b.load(place, typ=element, align=bytes_of(self.register)), own, align=bytes_of(self.register))

    def _element(self, pointer: ir.Value, number: int) -> ir.Value:
        return self.memory.at(pointer, I64(number), self.register) if number else pointer


def _write_line(size: tuple[int, int], register: str, phases: int, e: Emitter, arguments: Sequence[ir.Value]) -> None:
    vectors, lanes = size
    b, memory = e.b, VectorMemory(e, lanes, register)
    packed, at, image, index, low, high = arguments
    target, source = memory.at(packed, at, register), memory.at(image, index, register)
    span = phases * vectors * lanes
    whole = b.and_(b.icmp_signed("<=", low, I64(0)), b.icmp_signed("<=", I64(span), high))
    halves = [ir.Constant(ir.VectorType(I32, lanes), [2 * i + p for i in range(lanes)]) for p in range(2)]

    def write(*, masked: bool) -> None:
        met = [b.trunc(limit, I32) for limit in (low, high)]

        def load(place: int) -> ir.Value:
            mask = memory.between(met[0], met[1], place) if masked else None
            return memory.load(memory.at(source, I64(place), register), register, mask)

        for v in range(vectors):
            read = [load((phases * v + p) * lanes) for p in range(phases)]
            for p in range(phases):
                value = b.shuffle_vector(*read, halves[p]) if phases == 2 else read[0]
                b.store(
                    value, memory.at(target, I64((p * vectors + v) * lanes), register), align=lanes * bytes_of(register)
                )

    with b.if_else(whole, likely=True) as (inside, part):
        with inside:
            write(masked=False)
        with part:
            write(masked=True)
