"""The transforms of Winograd convolutions, on vectors of channels, and their sums' way to the results.

``winograd_input_{m}x{lanes}_f32(target, index, point stride, image, index, y stride, x stride, low y, high y, low x,
high x, channels)`` evaluates a tile of m + 2 by m + 2 pixels at all points, for all channels, which are neighbours.
Pixels outside ``low <= y < high`` and so on are not read and count as 0. The values lie as ``[points][channels]``, the
channels filled up with zeros to whole vectors.

``winograd_output_{m}x{lanes}_f32{program}(sums, index, point stride, columns, image, index, y stride, x stride, low y,
high y, low x, high x, channels, weights, index, output, channel, y and x stride, rows, pixels, operands)`` interpolates
the results of a tile from its sums ``[points][columns]``, applies a program (:mod:`.finish`) to them, and stores the
first ``rows`` by ``pixels``. Each of the program's operands that varies by pixel has its y stride behind its other
numbers.

A number that is infinite or not one would spoil its whole tile, and one near the greatest may become infinite on the
way. Either shows in the results, as every sum takes part in one of them: a vector of them of which one is not finite is
computed again, element by element of the window, from the weights as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I1, I32, I64, Emitter, Recipe
from basalt.compiler.kernels.finish import PATTERN, Find, Finish, Finisher, parsed
from basalt.compiler.kernels.loops import counted, internal_function, micro_kernel
from basalt.compiler.kernels.vectors import VectorMemory
from basalt.compiler.kernels.winograd_layout import POINTS, TAPS, coefficients
from basalt.compiler.kernels.winograd_products import prefetch

__all__ = ["recipe"]

_INPUT = re.compile(r"winograd_input_(2|4)x(\d+)_f32")
_OUTPUT = re.compile(rf"winograd_output_(2|4)x(\d+)_f32({PATTERN})")
_FLOAT = "f32"
_IMAGE = 9
"""Operands that tell what of an image a tile sees."""
_WEIGHTS = 6


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    from basalt.compiler.kernels import winograd_products
    from basalt.compiler.kernels.namespace import recipe as find

    index, pointer = types.intp, types.voidptr
    if match := _INPUT.fullmatch(name):
        size, lanes = int(match[1]), int(match[2])
        operands = (pointer, *[index] * 2, pointer, *[index] * (_IMAGE - 1))
        return micro_kernel(name, operands, lambda e, a: _Transform(e, size, lanes).input(a))
    if match := _OUTPUT.fullmatch(name):
        size, lanes, finish = int(match[1]), int(match[2]), parsed(match[3])
        operands = (pointer, *[index] * 3, pointer, *[index] * (_IMAGE - 1), pointer, *[index] * (_WEIGHTS - 1))
        operands = (*operands, *[index] * 2, *_types(finish))
        return micro_kernel(name, operands, lambda e, a: _Output(e, size, lanes, finish, find).write(a))
    return winograd_products.recipe(name)


def _types(finish: Finish) -> list[Any]:
    """The types of a program's arguments with the y strides."""
    found: list[Any] = []
    for kind in [*finish.operands, *("y" * len(finish.stored))]:
        found += Finish((kind,), (), ()).types(_FLOAT) + [types.intp] * (kind in "xsy")
    return found


class _Transform:
    """Emits what all transforms of tiles of ``size`` by ``size`` results share."""

    def __init__(self, e: Emitter, size: int, lanes: int) -> None:
        self.e, self.b, self.size, self.lanes = e, e.b, size, lanes
        self.memory = VectorMemory(e, lanes, _FLOAT)
        self.points = POINTS[size]
        self.span = size + TAPS - 1
        self.zero = e.constant(self.memory.vector, 0)

    def input(self, a: Sequence[ir.Value]) -> None:
        """Write ``winograd_input``."""
        b, memory = self.b, self.memory
        target, index, stride, image, at, y_stride, x_stride, *bounds, channels = a
        rows = [
            b.and_(b.icmp_signed("<=", bounds[0], I64(i)), b.icmp_signed("<", I64(i), bounds[1]))
            for i in range(self.span)
        ]
        columns = [
            b.and_(b.icmp_signed("<=", bounds[2], I64(i)), b.icmp_signed("<", I64(i), bounds[3]))
            for i in range(self.span)
        ]
        inside = b.and_(b.and_(rows[0], rows[-1]), b.and_(columns[0], columns[-1]))
        vectors = b.ashr(b.add(channels, I64(self.lanes - 1)), I64(self.lanes.bit_length() - 1))
        plain = b.select(inside, b.ashr(channels, I64(self.lanes.bit_length() - 1)), I64(0))
        s, v = memory.at(image, at, _FLOAT), memory.at(target, index, _FLOAT)
        masks = [[memory.splat(b.and_(row, column)) for column in columns] for row in rows]

        def each(masked: bool, k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            s, v = carried
            there = None
            if masked:
                left = b.sub(channels, b.mul(b.add(k, plain), I64(self.lanes)))
                there = memory.below(b.trunc(self.e.call("llvm.smin", [left, I64(self.lanes)]), I32))
            self._tile(s, y_stride, x_stride, None if there is None else masks, there, v, stride)
            return [memory.at(p, I64(self.lanes), _FLOAT) for p in (s, v)]

        s, v = counted(b, plain, [s, v], partial(each, False))
        counted(b, b.sub(vectors, plain), [s, v], partial(each, True))

    def _tile(
        self,
        s: ir.Value,
        y_stride: ir.Value,
        x_stride: ir.Value,
        masks: list[list[ir.Value]] | None,
        there: ir.Value | None,
        v: ir.Value,
        stride: ir.Value,
    ) -> None:
        """Evaluate a vector of channels at all points."""
        b, memory = self.b, self.memory
        lines = []
        for i in range(self.span):
            row, pixels = memory.at(s, b.mul(y_stride, I64(i)), _FLOAT), []
            for j in range(self.span):
                if masks is None and j >= TAPS - 1:
                    # The tile to the right is on its way while this one is evaluated.
                    prefetch(self.e, memory.at(row, b.mul(x_stride, I64(j + self.size)), _FLOAT))
                mask = None if masks is None or there is None else b.and_(masks[i][j], there)
                pixels.append(memory.load(memory.at(row, b.mul(x_stride, I64(j)), _FLOAT), _FLOAT, mask))
            lines.append(self.evaluated(pixels))
        for j in range(self.span):
            for i, value in enumerate(self.evaluated([line[j] for line in lines])):
                place = memory.at(v, b.mul(stride, I64(i * self.span + j)), _FLOAT)
                b.store(value, place, align=4)

    def evaluated(self, d: Sequence[ir.Value]) -> list[ir.Value]:
        """The values of neighbouring inputs at the points 0, p, -p, ..., infinity."""
        b, every = self.b, coefficients(self.points)
        found = [self._sum(every, d[0::2])]
        for i, p in enumerate(self.points):
            others = coefficients(self.points[:i] + self.points[i + 1 :])
            even, odd = self._sum(others, d[2::2]), self._sum(others, d[1::2])
            if p == 1:
                found += [b.fadd(even, odd), b.fsub(even, odd)]
            else:
                found += [self._scaled(odd, sign * p, even) for sign in (1, -1)]
        return [*found, self._sum(every, d[1::2])]

    def interpolated(self, m: Sequence[ir.Value]) -> list[ir.Value]:
        """The outputs, from products' values at those points."""
        b = self.b
        sums = [b.fadd(m[1 + 2 * i], m[2 + 2 * i]) for i in range(len(self.points))]
        differences = [b.fsub(m[1 + 2 * i], m[2 + 2 * i]) for i in range(len(self.points))]
        found = []
        for power in range(self.size):
            total = m[0] if power == 0 else m[-1] if power == self.size - 1 else None
            for p, value in zip(self.points, differences if power % 2 else sums):
                total = self._scaled(value, p**power, total)
            found.append(total)
        return found

    def _sum(self, factors: Sequence[float], values: Sequence[ir.Value]) -> ir.Value:
        """Sum of products, the last factor being 1."""
        total = values[len(factors) - 1]
        for factor, value in zip(factors[:-1], values):
            total = self._scaled(value, factor, total)
        return total

    def _scaled(self, value: ir.Value, factor: float, added: ir.Value | None) -> ir.Value:
        b = self.b
        if added is None:
            return value if factor == 1 else b.fmul(value, self.e.constant(value.type, factor))
        if abs(factor) == 1:
            return b.fadd(added, value) if factor > 0 else b.fsub(added, value)
        return self.memory.multiply_add(value, self.e.constant(value.type, factor), added)


class _Output(_Transform):
    """Emits ``winograd_output``."""

    def __init__(self, e: Emitter, size: int, lanes: int, finish: Finish, find: Find) -> None:
        super().__init__(e, size, lanes)
        self.finish, self.find = finish, find

    def write(self, a: Sequence[ir.Value]) -> None:
        b, memory = self.b, self.memory
        sums, index, stride, columns = a[:4]
        fallback = a[4 : 4 + _IMAGE + _WEIGHTS]
        self.rows, self.pixels, *program = a[4 + _IMAGE + _WEIGHTS :]
        self._split(program)
        block = b.alloca(memory.vector, self.size**2)
        block.align = 64
        vectors = b.ashr(b.add(columns, I64(self.lanes - 1)), I64(self.lanes.bit_length() - 1))

        def each(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            column = b.mul(k, I64(self.lanes))
            spoilt = self._results(carried[0], stride, block)
            left = b.sub(columns, column)
            with b.if_then(spoilt, likely=False):
                number = self.e.call("llvm.smin", [left, I64(self.lanes)])
                internal_function(
                    f"winograd_direct_{self.size}x{self.lanes}", self._direct, self.e, block, column, number, *fallback
                )
            with b.if_else(b.icmp_signed(">=", left, I64(self.lanes))) as (whole, part):
                with whole:
                    self._finished(block, column, None)
                with part:
                    self._finished(block, column, [memory.below(b.trunc(left, I32))])
            return [memory.at(carried[0], I64(self.lanes), _FLOAT)]

        counted(b, vectors, [memory.at(sums, index, _FLOAT)], each)

    def _split(self, program: Sequence[ir.Value]) -> None:
        """Part the program's operands and their y strides."""
        self.given: list[tuple[str, list[ir.Value], ir.Value | None]] = []
        place = 0
        for kind in [*self.finish.operands, *("y" * len(self.finish.stored))]:
            size = len(Finish((kind,), (), ()).types(_FLOAT))
            down = program[place + size] if kind in "xsy" else None
            self.given.append((kind, list(program[place : place + size]), down))
            place += size + (down is not None)

    def _results(self, m: ir.Value, stride: ir.Value, block: ir.Value) -> ir.Value:
        """Store the results of a vector of columns; returns whether one is not finite."""
        b, memory = self.b, self.memory
        lines = []
        for j in range(self.span):
            places = [memory.at(m, b.mul(stride, I64(i * self.span + j)), _FLOAT) for i in range(self.span)]
            lines.append(self.interpolated([memory.load(place, _FLOAT) for place in places]))
        total = self.zero
        for i in range(self.size):
            for j, value in enumerate(self.interpolated([line[i] for line in lines])):
                b.store(value, self._place(block, i * self.size + j), align=4 * self.lanes)
                total = memory.multiply_add(value, self.zero, total)
        return self._any(b.fcmp_unordered("uno", total, total))

    def _any(self, mask: ir.Value) -> ir.Value:
        bits = ir.IntType(self.lanes)
        return self.b.icmp_unsigned("!=", self.b.bitcast(mask, bits), ir.Constant(bits, 0))

    def _place(self, block: ir.Value, number: int) -> ir.Value:
        return self.memory.at(block, I64(number * self.lanes), _FLOAT)

    def _finished(self, block: ir.Value, column: ir.Value, masks: list[ir.Value] | None) -> None:
        b = self.b

        def line(y: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            finisher = Finisher(self.finish, self.memory, _FLOAT, 1, self._moved(y), self.find)
            finisher.move(column)
            finisher.prepare(masks)
            first = b.mul(y, I64(self.size * self.lanes))

            def pixel(x: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
                place = self.memory.at(block, b.add(first, b.mul(x, I64(self.lanes))), _FLOAT)
                finisher.row(x, [b.load(place, typ=self.memory.vector, align=4 * self.lanes)])
                return []

            return counted(b, self.pixels, [], pixel)

        counted(b, self.rows, [], line)

    def _moved(self, y: ir.Value) -> list[ir.Value]:
        """The program's operands some rows further down."""
        b, found = self.b, []
        for _, arguments, down in self.given:
            if down is not None:
                arguments = [arguments[0], b.add(arguments[1], b.mul(y, down)), *arguments[2:]]
            found += arguments
        return found

    def _direct(self, e: Emitter, a: Sequence[ir.Value]) -> None:
        _Direct(e, self.size, self.lanes).write(a)


class _Direct(_Transform):
    """Emits the sums of a tile for a vector of columns, products of the window's elements as they are."""

    def write(self, a: Sequence[ir.Value]) -> None:
        b, memory = self.b, self.memory
        block, column, number = a[:3]
        image, at, self.y_stride, self.x_stride, *self.bounds, self.channels = a[3 : 3 + _IMAGE]
        weights, first, output, self.c_stride, *taps = a[3 + _IMAGE :]
        s = memory.at(image, at, _FLOAT)
        v = memory.at(weights, b.add(first, b.mul(column, output)), _FLOAT)
        # Columns that are not there repeat the last.
        last = b.sub(number, I64(1))
        lanes = [b.mul(self.e.call("llvm.smin", [I64(i), last]), output) for i in range(self.lanes)]

        def line(y: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            def down(i: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
                row = b.add(y, i)
                s_row = memory.at(s, b.mul(row, self.y_stride), _FLOAT)
                v_row = memory.at(v, b.mul(i, taps[0]), _FLOAT)

                def along(j: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
                    return self._channels(sums, row, j, s_row, memory.at(v_row, b.mul(j, taps[1]), _FLOAT), lanes)

                return counted(b, I64(TAPS), sums, along)

            sums = counted(b, I64(TAPS), [self.zero] * self.size, down)
            for x, value in enumerate(sums):
                place = b.add(b.mul(y, I64(self.size * self.lanes)), I64(x * self.lanes))
                b.store(value, memory.at(block, place, _FLOAT), align=4 * self.lanes)
            return []

        counted(b, I64(self.size), [], line)

    def _channels(
        self, sums: list[ir.Value], row: ir.Value, j: ir.Value, s: ir.Value, v: ir.Value, lanes: list[ir.Value]
    ) -> list[ir.Value]:
        """The sums of a row of results with the products of one element of the window added."""
        b, memory = self.b, self.memory
        met = [self._met(row, b.add(j, I64(x))) for x in range(self.size)]
        pixels = [memory.at(s, b.mul(b.add(j, I64(x)), self.x_stride), _FLOAT) for x in range(self.size)]

        def each(c: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            weight: ir.Value = ir.Constant(memory.vector, ir.Undefined)
            there = memory.at(v, b.mul(c, self.c_stride), _FLOAT)
            for i, lane in enumerate(lanes):
                element = b.load(memory.at(there, lane, _FLOAT), typ=memory.element, align=4)
                weight = b.insert_element(weight, element, I32(i))
            found = []
            for total, inside, pixel in zip(sums, met, pixels):
                # What is outside counts as 0 and is not read: the first channel of the first weight stands in for it.
                place = b.select(inside, memory.at(pixel, c, _FLOAT), there)
                value = b.select(inside, b.load(place, typ=memory.element, align=4), ir.Constant(memory.element, 0.0))
                found.append(memory.multiply_add(memory.splat(value), weight, total))
            return found

        return counted(b, self.channels, sums, each)

    def _met(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Whether a place of the tile's is inside the image."""
        b, found = self.b, I1(1)
        for value, (low, high) in zip((row, column), (self.bounds[:2], self.bounds[2:])):
            found = b.and_(found, b.and_(b.icmp_signed("<=", low, value), b.icmp_signed("<", value, high)))
        return found
