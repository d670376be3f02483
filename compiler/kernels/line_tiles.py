"""Micro-kernels of windows over planes whose columns are neighbours, plane by plane: depthwise convolutions and pools.

``lines_{operation}_{rows}x{lanes}_{register}_{taps y}x{taps x}s{stride y}x{stride x}{program}`` computes some rows of
one plane of results: over the window the sum of ``products`` with weights, the ``sum``, the sum of ``squares``, or the
``max``. Vectors run over columns; ``rows`` rows are computed at once, so that an element is loaded once for all of
them. A program (:mod:`.finish`) is applied to the results.

The operands, counted in elements: ``image, index, line stride, weights, index, columns, first row, last row, begin y,
begin x, input y, input x, block``, then the program's, which begins with the first row. ``index`` is that of the
plane's first element; elements beyond ``input`` take no part. ``begin`` rows and columns of padding come before them.
``block`` is scratch memory for ``rows`` vectors. Weights lie as [taps y][taps x]; only products read them. Strides over
columns are 1 or 2.

Where a row ends within a vector, the last vector is moved back to end with it. A maximum is NaN where an element is,
which the processor's own instruction does not give: results are computed by it all the same, while elements are tested
two at a time, and again with care where one is NaN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial, reduce

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.finish import PATTERN, Find, Finish, Finisher, parsed
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.vectors import VectorMemory, bytes_of

__all__ = ["recipe"]

_NAME = re.compile(rf"lines_(products|sum|squares|max)_(\d+)x(\d+)_(f32|f64)_(\d+)x(\d+)s(\d+)x([12])({PATTERN})")
_OPERANDS = 13


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    from basalt.compiler.kernels.namespace import recipe as find

    match = matched(_NAME, name)
    operation, rows, lanes, register, *window, program = match.groups()
    finish = parsed(program)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, index, index, pointer, *[index] * 8, pointer, *finish.types(register))

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        tile = _TILES[operation](e, (int(rows), int(lanes)), register, [int(size) for size in window])
        tile.write(arguments, finish, find)

    return micro_kernel(name, operands, write)


class _Tile:
    """Emits one micro-kernel."""

    identity = 0.0
    """What stands for elements outside the plane."""

    def __init__(self, e: Emitter, size: tuple[int, int], register: str, window: Sequence[int]) -> None:
        self.e, self.b, self.register = e, e.b, register
        self.rows, self.lanes = size
        self.taps_y, self.taps_x, self.stride_y, self.stride_x = window
        self.memory = VectorMemory(e, self.lanes, register, self.identity)
        self.start = e.constant(self.memory.vector, self.identity)
        self.span = (self.rows - 1) * self.stride_y + self.taps_y
        """Lines of the plane that a block of rows sees."""
        vectors = 1 if self.stride_x == 1 else 2
        pairs = self.taps_x if self.stride_x == 1 else -(-self.taps_x // 2) * 2 - 1
        self.reach = vectors * self.lanes + pairs - 1
        """Elements of a line that are read for a vector of results."""

    def write(self, arguments: Sequence[ir.Value], finish: Finish, find: Find) -> None:
        b = self.b
        image, index, self.line, weights, weights_index, self.columns, first, last = arguments[:8]
        self.begin_y, self.begin_x, self.input_y, self.input_x, self.block = arguments[8:_OPERANDS]
        self.plane = self.memory.at(image, index, self.register)
        self.finisher = Finisher(finish, self.memory, self.register, 1, arguments[_OPERANDS:], find)
        self.weights = self.broadcast(self.memory.at(weights, weights_index, self.register))
        lanes, rows = I64(self.lanes), I64(self.rows)
        final = b.sub(self.columns, lanes)
        self.final = b.select(b.icmp_signed("<", final, I64(0)), I64(0), final)
        vectors = b.sdiv(b.add(self.columns, b.sub(lanes, I64(1))), lanes)

        def block(t: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            done = b.mul(t, rows)
            counted(b, vectors, [], partial(self._vector, b.add(first, done), done, last))
            return []

        counted(b, b.sdiv(b.add(b.sub(last, first), b.sub(rows, I64(1))), rows), [], block)

    def _vector(
        self, y: ir.Value, done: ir.Value, last: ir.Value, j: ir.Value, carried: list[ir.Value]
    ) -> list[ir.Value]:
        """The results of a block of rows in a vector of columns."""
        b = self.b
        x = b.mul(j, I64(self.lanes))
        x = b.select(b.icmp_signed("<", x, self.final), x, self.final)
        top = b.sub(b.mul(y, I64(self.stride_y)), self.begin_y)
        left = b.sub(b.mul(x, I64(self.stride_x)), self.begin_x)
        corner = self.memory.at(self.plane, b.add(b.mul(top, self.line), left), self.register)
        rows = b.sub(last, y)
        rows = b.select(b.icmp_signed("<", rows, I64(self.rows)), rows, I64(self.rows))
        inside = self._all(
            b.icmp_signed(">=", top, I64(0)),
            b.icmp_signed("<=", b.add(top, I64(self.span)), self.input_y),
            b.icmp_signed(">=", left, I64(0)),
            b.icmp_signed("<=", b.add(left, I64(self.reach)), self.input_x),
            b.icmp_signed(">=", self.columns, I64(self.lanes)),
        )
        self.finisher.move(x, done)
        with b.if_else(inside, likely=True) as (whole, part):
            with whole:
                self.finisher.rows(None, self.results(corner, None), rows, self.block)
            with part:
                self._store(self.results(corner, (top, left)), rows, x)
        return []

    def _store(self, results: list[ir.Value], rows: ir.Value, x: ir.Value) -> None:
        """Finish and store as many columns as there are: stores with masks are slow."""
        b = self.b
        with b.if_else(b.icmp_signed(">=", self.columns, I64(self.lanes)), likely=True) as (whole, part):
            with whole:
                self.finisher.rows(None, results, rows, self.block)
            with part:
                there = self.memory.below(b.trunc(b.sub(self.columns, x), I32))
                self.finisher.rows([there], results, rows, self.block)

    def _all(self, *conditions: ir.Value) -> ir.Value:
        return reduce(self.b.and_, conditions)

    def broadcast(self, weights: ir.Value) -> list[ir.Value]:
        """The weights as vectors of one number."""
        return []

    def results(self, corner: ir.Value, edge: tuple[ir.Value, ir.Value] | None) -> list[ir.Value]:
        """The results of a block; ``edge`` is where it begins, given if some of what it sees may not exist."""
        return self.over_lines([self.start] * self.rows, corner, edge, careful=False)[: self.rows]

    def over_lines(
        self, sums: list[ir.Value], corner: ir.Value, edge: tuple[ir.Value, ir.Value] | None, *, careful: bool
    ) -> list[ir.Value]:
        """Partial results after all lines of the plane that a block sees."""
        b = self.b
        masks = None if edge is None else self._masks(edge[1])
        for i in range(self.span):
            place = self.memory.at(corner, b.mul(self.line, I64(i)), self.register) if i else corner
            if edge is None:
                sums = self._line(list(sums), i, self._elements(place, None), careful)
                continue
            y = b.add(edge[0], I64(i))
            exists = self._all(b.icmp_signed(">=", y, I64(0)), b.icmp_signed("<", y, self.input_y))
            before = b.block
            with b.if_then(exists):
                met = self._line(list(sums), i, self._elements(place, masks), careful)
                after = b.block
            found = []
            for old, new in zip(sums, met):
                phi = b.phi(old.type)
                phi.add_incoming(old, before)
                phi.add_incoming(new, after)
                found.append(phi)
            sums = found
        return sums

    def _masks(self, left: ir.Value) -> list[ir.Value]:
        """Which elements of the vectors of a line exist, in the order in which :meth:`_elements` loads them."""
        b = self.b
        low, high = (b.trunc(b.sub(limit, left), I32) for limit in (I64(0), self.input_x))
        if self.stride_x == 1:
            return [self.memory.between(low, high, k) for k in range(self.taps_x)]
        firsts = [k + half for k in range(0, self.taps_x, 2) for half in (0, self.lanes)]
        return [self.memory.between(low, high, first) for first in firsts]

    def _elements(self, place: ir.Value, masks: list[ir.Value] | None) -> list[ir.Value]:
        """For each tap of a line the elements that a vector of results meets."""

        def load(first: int, number: int) -> ir.Value:
            at = self.memory.at(place, I64(first), self.register)
            return self.memory.load(at, self.register, None if masks is None else masks[number])

        if self.stride_x == 1:
            return [load(k, k) for k in range(self.taps_x)]
        found: list[ir.Value] = []
        for k in range(0, self.taps_x, 2):
            halves = load(k, k), load(k + self.lanes, k + 1)
            for odd in (0, 1):
                order = ir.Constant(ir.VectorType(I32, self.lanes), [2 * i + odd for i in range(self.lanes)])
                found.append(self.b.shuffle_vector(*halves, order))
        return found[: self.taps_x]

    def _line(self, sums: list[ir.Value], number: int, own: list[ir.Value], careful: bool) -> list[ir.Value]:
        """Partial results with a line's elements taken in."""
        self.note(sums, own)
        joined = self.joined(own, careful)
        for o in range(self.rows):
            tap = number - o * self.stride_y
            if 0 <= tap < self.taps_y:
                sums[o] = self.taken(sums[o], joined, tap, careful)
        return sums

    def note(self, sums: list[ir.Value], own: list[ir.Value]) -> None:
        """Take notice of a line's elements."""

    def joined(self, own: list[ir.Value], careful: bool) -> list[ir.Value]:
        """What rows share of a line's elements."""
        raise NotImplementedError

    def taken(self, partial_: ir.Value, joined: list[ir.Value], tap: int, careful: bool) -> ir.Value:
        """A partial result with a line of its window taken in."""
        raise NotImplementedError


class _Products(_Tile):
    def broadcast(self, weights: ir.Value) -> list[ir.Value]:
        count = self.taps_y * self.taps_x
        return [
            self.memory.broadcast(self.memory.at(weights, I64(i), self.register), self.register) for i in range(count)
        ]

    def joined(self, own: list[ir.Value], careful: bool) -> list[ir.Value]:
        return own

    def taken(self, partial_: ir.Value, joined: list[ir.Value], tap: int, careful: bool) -> ir.Value:
        for k, own in enumerate(joined):
            partial_ = self.memory.multiply_add(own, self.weights[tap * self.taps_x + k], partial_)
        return partial_


class _Sum(_Tile):
    def joined(self, own: list[ir.Value], careful: bool) -> list[ir.Value]:
        return [reduce(self.b.fadd, own)]

    def taken(self, partial_: ir.Value, joined: list[ir.Value], tap: int, careful: bool) -> ir.Value:
        return self.b.fadd(partial_, joined[0])


class _Squares(_Sum):
    def joined(self, own: list[ir.Value], careful: bool) -> list[ir.Value]:
        total = self.b.fmul(own[0], own[0])
        for x in own[1:]:
            total = self.memory.multiply_add(x, x, total)
        return [total]


class _Max(_Tile):
    identity = -math.inf

    def results(self, corner: ir.Value, edge: tuple[ir.Value, ir.Value] | None) -> list[ir.Value]:
        b = self.b
        start = [self.start] * self.rows
        none = ir.Constant(ir.VectorType(ir.IntType(8 * bytes_of(self.register)), self.lanes), None)
        *quick, odd = self.over_lines([*start, none], corner, edge, careful=False)
        before, bits = b.block, ir.IntType(self.lanes)
        found = b.icmp_unsigned("!=", b.bitcast(b.icmp_signed("<", odd, none), bits), bits(0))
        with b.if_then(found, likely=False):
            rare = self.over_lines(start, corner, edge, careful=True)
            after = b.block
        results = []
        for usual, careful in zip(quick, rare):
            phi = b.phi(self.memory.vector)
            phi.add_incoming(usual, before)
            phi.add_incoming(careful, after)
            results.append(phi)
        return results

    def note(self, sums: list[ir.Value], own: list[ir.Value]) -> None:
        if len(sums) == self.rows:
            return
        for k in range(0, len(own), 2):
            odd = self.b.fcmp_unordered("uno", own[k], own[min(k + 1, len(own) - 1)])
            sums[-1] = self.b.or_(sums[-1], self.b.sext(odd, sums[-1].type))

    def joined(self, own: list[ir.Value], careful: bool) -> list[ir.Value]:
        return [reduce(partial(self._larger, careful=careful), own)]

    def taken(self, partial_: ir.Value, joined: list[ir.Value], tap: int, careful: bool) -> ir.Value:
        return self._larger(partial_, joined[0], careful=careful)

    def _larger(self, old: ir.Value, own: ir.Value, *, careful: bool) -> ir.Value:
        # As the processor's maximum: the second operand if they are equal or one of them is NaN.
        larger = self.b.select(self.b.fcmp_ordered(">", old, own), old, own)
        if not careful:
            return larger
        return self.b.select(self.b.fcmp_unordered("uno", old, old), old, larger)


_TILES: dict[str, type[_Tile]] = {"products": _Products, "sum": _Sum, "squares": _Squares, "max": _Max}
