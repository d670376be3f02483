"""Micro-kernels of matrix products: from the operands' elements to results that are finished and stored.

``product_{rows}x{vectors}x{lanes}_{s}_{v}_{register}_{walk}{program}`` sums up, for ``rows`` rows and ``vectors *
lanes`` columns, ``S(row, k) * V(k, column)`` over ``depth`` steps and applies a program (:mod:`.finish`) to the sums.
``S`` is of memory type ``s``, one element is broadcast over a row; ``V``, of memory type ``v``, is read along the
columns. The walk is two letters: a step of ``S`` is one element (``u``) or an operand (``a``), a step of ``V`` is a row
of a packed panel (``p``) or an operand, and then only columns that exist are read (``m``). With a third letter, ``n``,
what comes next is fetched into the caches meanwhile: rows of ``S`` like these from ``ahead of S`` on, and of ``V`` a
line every ``pace`` elements from ``ahead of V`` on, one for each step.

The operands, counted in elements: ``block, S, index, row stride, step, V, index, step, depth, first, last, rows,
columns, ahead of S, ahead of V, pace``, then the program's. Sums start from the scratch memory ``block`` (rows *
vectors * lanes elements, aligned to vectors) unless ``first``, and are kept there unless ``last``. ``rows`` is the
tile's or less: one less costs no more than it must, still fewer are computed one by one. Whatever the number, a row's
sum is made in the same order. Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I1, I8, I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.finish import PATTERN, Find, Finish, Finisher, parsed
from basalt.compiler.kernels.loops import POINTER, counted, micro_kernel
from basalt.compiler.kernels.target import SPLIT, target
from basalt.compiler.kernels.vectors import KINDS, VectorMemory, bytes_of

__all__ = ["recipe"]

_NAME = re.compile(rf"product_(\d+)x(\d+)x(\d+)_({KINDS})_({KINDS})_(f32|f64)_([ua])([pm])(n?)({PATTERN})")
_OPERANDS = 16
UNROLLED = 4
"""Steps between two tests of the loop's end."""
LINE = 64
"""Bytes of a cache line."""
SHARING = 3
"""Rows that share a base register, which the stride's multiples are added to in their addresses."""


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    from basalt.compiler.kernels.namespace import recipe as find

    match = matched(_NAME, name)
    rows, vectors, lanes = map(int, match.groups()[:3])
    s, v, register, step, walk, ahead, program = match.groups()[3:]
    finish = parsed(program)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, pointer, *[index] * 3, pointer, *[index] * 10, *finish.types(register))

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        tile = _Tile(e, (rows, vectors, lanes), (s, v, register), step == "u", walk == "m", ahead == "n")
        tile.write(arguments, finish, find)

    return micro_kernel(name, operands, write)


class _Tile:
    """Emits one micro-kernel."""

    def __init__(
        self,
        e: Emitter,
        size: tuple[int, int, int],
        kinds: tuple[str, str, str],
        unit: bool,
        masked: bool,
        fetching: bool,
    ) -> None:
        self.e, self.b = e, e.b
        self.rows, self.vectors, lanes = size
        self.s_type, self.v_type, self.register = kinds
        self.unit, self.masked, self.fetching = unit, masked, fetching
        self.memory = VectorMemory(e, lanes, self.register)
        self.width = self.vectors * lanes
        # Few sums are split into several, added up at last.
        self.chains = min(4, max(1, SPLIT // (self.rows * self.vectors)))

    def write(self, arguments: Sequence[ir.Value], finish: Finish, find: Find) -> None:
        b = self.b
        self.block, s, s_index, self.stride, self.s_step, v, v_index, v_step, self.depth = arguments[:9]
        first, last, rows, columns, s_ahead, v_ahead, pace = arguments[9:_OPERANDS]
        self.v_step = v_step if self.masked else I64(self.width)
        self.s, self.v = self.memory.at(s, s_index, self.s_type), self.memory.at(v, v_index, self.v_type)
        self.s_ahead, self.v_ahead = self.memory.at(s, s_ahead, self.s_type), self.memory.at(v, v_ahead, self.v_type)
        self.pace = pace
        self.first, self.last, self.count = first, b.icmp_signed("!=", last, I64(0)), rows
        self.finisher = Finisher(finish, self.memory, self.register, self.vectors, arguments[_OPERANDS:], find)
        self.whole = b.icmp_signed(">=", columns, I64(self.width))
        left = b.trunc(columns, I32)
        self.there = [self.memory.below(left, j * self.memory.lanes) for j in range(self.vectors)]
        if not self.masked:
            self._sum_up(None)
        else:
            with b.if_else(self.whole) as (plain, part):
                with plain:
                    self._sum_up(None)
                with part:
                    self._sum_up(self.there)

    def _sum_up(self, masks: list[ir.Value] | None) -> None:
        """Sum up all rows of the tile, one less, or one by one; then finish what lies in the block."""
        b = self.b
        done: list[tuple[ir.Value, ir.Block]] = []
        with b.if_else(b.icmp_signed(">=", self.count, I64(self.rows))) as (full, fewer):
            with full:
                done.append((self._full(masks), b.block))
            with fewer:
                if self.rows > 2 and masks is None:
                    with b.if_else(b.icmp_signed("==", self.count, I64(self.rows - 1))) as (one_less, others):
                        with one_less:
                            self._keep(self._continued(self._sums(self.rows - 1, self.s, None), self.block), self.block)
                        with others:
                            self._single_rows(masks)
                else:
                    self._single_rows(masks)
                done.append((I1(0), b.block))
        finished = b.phi(I1)
        for value, block in done:
            finished.add_incoming(value, block)
        with b.if_then(b.and_(self.last, b.not_(finished))):
            if self.masked or masks is not None:
                self._finish_rows(masks)
                return
            with b.if_else(self.whole) as (plain, part):
                with plain:
                    self._finish_rows(None)
                with part:
                    self._finish_rows(self.there)

    def _full(self, masks: list[ir.Value] | None) -> ir.Value:
        """All rows of the tile; whether they are finished, and not kept in the block."""
        b = self.b
        sums = self._continued(self._sums(self.rows, self.s, masks), self.block)
        if masks is not None or not self.finisher.is_short:
            self._keep(sums, self.block)
            return I1(0)
        direct = b.and_(self.last, self.whole)
        with b.if_else(direct) as (finished, kept):
            with finished:
                self.finisher.rows(None, sums, I64(self.rows), self.block)
            with kept:
                self._keep(sums, self.block)
        return direct

    def _single_rows(self, masks: list[ir.Value] | None) -> None:
        """Sum up row by row, into the block."""

        def body(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            s, block = carried
            self._keep(self._continued(self._sums(1, s, masks), block), block)
            return [self.memory.at(s, self.stride, self.s_type), self.memory.at(block, I64(self.width), self.register)]

        counted(self.b, self.count, [self.s, self.block], body)

    def _finish_rows(self, masks: list[ir.Value] | None) -> None:
        """Finish the rows in the block."""
        b, lanes = self.b, self.memory.lanes
        self.finisher.prepare(masks)

        def body(r: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            (place,) = carried
            kept = [self.memory.at(place, I64(j * lanes), self.register) for j in range(self.vectors)]
            self.finisher.row(r, [b.load(p, typ=self.memory.vector, align=self._align) for p in kept])
            return [self.memory.at(place, I64(self.width), self.register)]

        counted(b, self.count, [self.block], body)

    def _sums(self, rows: int, s: ir.Value, masks: list[ir.Value] | None) -> list[ir.Value]:
        """The sums of a number of rows from ``s`` on."""
        b = self.b
        size = bytes_of(self.s_type)
        bases = [b.mul(self.stride, I64(SHARING * i * size)) for i in range(-(-rows // SHARING))]
        together = max(self.chains, UNROLLED)
        number = rows * self.vectors
        zero = [self.e.constant(self.memory.vector, 0)] * (number * self.chains)

        def steps(count: int, _: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *sums, s, v = carried
            places = self._places(s, bases)
            for i in range(count):
                if i and target().registers < 32:
                    self._fence()
                if i and not self.unit:
                    s = self.memory.at(s, self.s_step, self.s_type)
                    places = self._places(s, bases)
                if i and self.masked:
                    v = self.memory.at(v, self.v_step, self.v_type)
                own = [self._element(p, i if self.unit else 0, self.s_type) for p in places]
                other = v if self.masked else self._element(v, i * self.width, self.v_type)
                at = i % self.chains * number
                sums[at : at + number] = self._step(sums[at : at + number], own, other, masks)
            s_ahead = I64(count) if self.unit else self.s_step
            v_ahead = self.v_step if self.masked else I64(count * self.width)
            return [*sums, self.memory.at(s, s_ahead, self.s_type), self.memory.at(v, v_ahead, self.v_type)]

        def fetching(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *others, line, row, column = carried
            return [*steps(together, k, others), *self._fetch(line, row, column, rows)]

        whole = b.ashr(self.depth, I64(together.bit_length() - 1))
        if self.fetching and rows > 1:
            ahead = [self.s_ahead, I64(0), self.v_ahead]
            *sums, s, v, _, _, _ = counted(b, whole, [*zero, s, self.v, *ahead], fetching)
        else:
            *sums, s, v = counted(b, whole, [*zero, s, self.v], partial(steps, together))
        rest = b.and_(self.depth, I64(together - 1))
        *total, _, _ = counted(b, rest, [*sums[:number], s, v], partial(steps, 1))
        for i in range(1, self.chains):
            total = [b.fadd(x, y) for x, y in zip(total, sums[i * number : (i + 1) * number])]
        return total

    def _fetch(self, line: ir.Value, row: ir.Value, column: ir.Value, rows: int) -> list[ir.Value]:
        """Fetch a line of two rows and one of the columns; returns where to go on: all rows, then the next line."""
        b = self.b
        pairs, size = -(-rows // 2), bytes_of(self.s_type)
        second = self.memory.at(line, self.stride, self.s_type)
        self._prefetch(line)
        self._prefetch(second)
        for _ in range(UNROLLED):
            self._prefetch(column)
            column = self.memory.at(column, self.pace, self.v_type)
        following = b.add(row, I64(1))
        wraps = b.icmp_signed("==", following, I64(pairs))
        back = b.sub(I64(LINE // size), b.mul(self.stride, I64(2 * (pairs - 1))))
        step = b.select(wraps, back, b.shl(self.stride, I64(1)))
        return [
            self.memory.at(line, step, self.s_type),
            b.select(wraps, I64(0), following),
            column,
        ]

    def _prefetch(self, place: ir.Value) -> None:
        """Fetch a line into the second-level cache: the first one has no room for it beside what is in use."""
        kinds: Sequence[ir.Type] = [POINTER, I32, I32, I32]
        function = self.e.declare("llvm.prefetch.p0", ir.FunctionType(ir.VoidType(), kinds))
        self.b.call(function, [place, I32(0), I32(2), I32(1)])

    def _places(self, s: ir.Value, bases: list[ir.Value]) -> list[ir.Value]:
        return [self._opaque(self.b.gep(s, [base], source_etype=I8)) for base in bases]

    def _step(
        self, sums: list[ir.Value], bases: list[ir.Value], v: ir.Value, masks: list[ir.Value] | None
    ) -> list[ir.Value]:
        memory = self.memory
        places = [self._element(v, j * memory.lanes, self.v_type) for j in range(self.vectors)]
        others = [memory.load(p, self.v_type, None if masks is None else masks[j]) for j, p in enumerate(places)]
        result = []
        for r in range(len(sums) // self.vectors):
            place = bases[r // SHARING]
            if r % SHARING:
                place = memory.at(place, self.b.mul(self.stride, I64(r % SHARING)), self.s_type)
            own = memory.broadcast(place, self.s_type)
            old = sums[r * self.vectors : (r + 1) * self.vectors]
            result += [memory.multiply_add(own, x, total) for x, total in zip(others, old)]
        return result

    def _fence(self) -> None:
        """Keep loads where they are: fetched early, they push sums out of the registers where there are but few."""
        self.b.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", side_effect=True), [])

    def _opaque(self, pointer: ir.Value) -> ir.Value:
        """An address that LLVM cannot derive from another: it would chain additions through all rows."""
        return self.b.asm(ir.FunctionType(pointer.type, [pointer.type]), "", "=r,0", [pointer], False)

    def _element(self, pointer: ir.Value, number: int, kind: str) -> ir.Value:
        return self.memory.at(pointer, I64(number), kind) if number else pointer

    @property
    def _align(self) -> int:
        return min(64, self.memory.lanes * bytes_of(self.register))

    def _kept(self, block: ir.Value, number: int) -> ir.Value:
        return self._element(block, number * self.memory.lanes, self.register)

    def _continued(self, sums: list[ir.Value], block: ir.Value) -> list[ir.Value]:
        """The sums with those of earlier parts added."""
        b, before = self.b, self.b.block
        with b.if_then(b.icmp_signed("==", self.first, I64(0))):
            olds = [b.load(self._kept(block, i), typ=self.memory.vector, align=self._align) for i in range(len(sums))]
            added = [b.fadd(old, own) for old, own in zip(olds, sums)]
            after = b.block
        result = []
        for own, other in zip(sums, added):
            phi = b.phi(self.memory.vector)
            phi.add_incoming(own, before)
            phi.add_incoming(other, after)
            result.append(phi)
        return result

    def _keep(self, sums: list[ir.Value], block: ir.Value) -> None:
        for i, value in enumerate(sums):
            self.b.store(value, self._kept(block, i), align=self._align)
