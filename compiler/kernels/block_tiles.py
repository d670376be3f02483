"""Register-tiled micro-kernels for products with integers of a few bits, blocks of which share a scale.

``blocktile_{rows}x{vectors}x{lanes}_{bits}_{f32|f16}_{one|each}`` computes for ``rows`` rows and ``vectors * lanes``
columns, over blocks of words that each hold ``32 / bits`` integers of a column, those of the lowest bits first::

    acc[r, j] = sum over b of scale[b, j] * sum over k in b of S[r, k] * (W[k, j] - zero[b, j])

Its operands: ``acc, index, pitch, spare, rows, S, index, row stride, sums, W, index, scale, index``, then ``zero`` as a
number (``one``) or a pointer to uint8 and an index (``each``), ``blocks, words``. W holds uint32 [blocks * words,
columns], the scales are of the type that the name says. S holds float32, divided by what the integers are multiplied
by where they stand in their word: 1 for the highest, ``2 ** (bits * place)`` for the others. Its rows' sums over each
block, as they were before, begin ``sums`` elements behind it. ``rows`` may be fewer than the tile has: row ``rows - 1``
is then computed again, into the row of acc at index ``spare``.

Each row's and column's sums are added up in one order, whatever the tile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import F32, I8, I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.target import SPLIT
from basalt.compiler.kernels.vectors import VectorMemory

__all__ = ["recipe"]

_NAME = re.compile(r"blocktile_(\d+)x(\d+)x(\d+)_(2|4|8)_(f32|f16)_(one|each)")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    rows, vectors, lanes, bits = (int(match[i]) for i in range(1, 5))
    index, pointer = types.intp, types.voidptr
    zero = (types.float32,) if match[6] == "one" else (pointer, index)
    operands = (pointer, *[index] * 4, pointer, *[index] * 3, pointer, index, pointer, index, *zero, index, index)

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _Writer(rows, vectors, lanes, bits, match[5], e, arguments).write()

    return micro_kernel(name, operands, write)


class _Writer:
    def __init__(
        self, rows: int, vectors: int, lanes: int, bits: int, scale_type: str, e: Emitter, a: Sequence[ir.Value]
    ) -> None:
        self.rows, self.vectors, self.lanes, self.bits, self.scale_type = rows, vectors, lanes, bits, scale_type
        self.e, self.b, self.memory = e, e.b, VectorMemory(e, lanes, "f32")
        self.acc, self.at, self.pitch, self.spare, self.height = a[:5]
        pointer, index, stride, behind = a[5:9]
        self.weights = self._at(a[9], a[10], I32)
        self.scales = self.memory.at(a[11], a[12], scale_type)
        *self.zero, self.blocks, self.words = a[13:]
        b = self.b
        last = b.sub(self.height, I64(1))
        starts = [b.mul(e.call("llvm.smin", [I64(r), last]), stride) if r else I64(0) for r in range(rows)]
        self.left = [self._at(pointer, b.add(index, start), F32) for start in starts]
        self.sums = [self._at(place, behind, F32) for place in self.left]

    def write(self) -> None:
        b = self.b
        # Several blocks at once, where there are few sums in one, hide how long each addition takes.
        together = max(1, SPLIT // (self.rows * self.vectors))
        zeros = [self.e.constant(self.memory.vector, 0)] * (self.rows * self.vectors)
        whole = b.sdiv(self.blocks, I64(together))

        def several(k: ir.Value, totals: list[ir.Value]) -> list[ir.Value]:
            return self._blocks(b.mul(k, I64(together)), together, totals)

        def one(k: ir.Value, totals: list[ir.Value]) -> list[ir.Value]:
            return self._blocks(b.add(k, b.mul(whole, I64(together))), 1, totals)

        totals = counted(b, whole, zeros, several)
        if together > 1:
            totals = counted(b, b.srem(self.blocks, I64(together)), totals, one)
        for r in range(self.rows):
            start = b.add(self.at, b.mul(I64(r), self.pitch))
            if r:
                start = b.select(b.icmp_signed("<", I64(r), self.height), start, self.spare)
            for v in range(self.vectors):
                place = self._at(self.acc, b.add(start, I64(v * self.lanes)), F32)
                b.store(totals[r * self.vectors + v], place, align=4)

    def _blocks(self, first: ir.Value, count: int, totals: list[ir.Value]) -> list[ir.Value]:
        """The totals with those of some blocks, whose products are summed up side by side."""
        b = self.b
        numbers = [b.add(first, I64(i)) for i in range(count)]
        each = self.rows * self.vectors

        def step(i: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            done: list[ir.Value] = []
            for n, number in enumerate(numbers):
                done += self._word(b.add(b.mul(number, self.words), i), sums[n * each : (n + 1) * each])
            return done

        sums = counted(b, self.words, [x for number in numbers for x in self._before(number)], step)
        for n, number in enumerate(numbers):
            for v in range(self.vectors):
                place = self.memory.at(self.scales, self._column(number, v), self.scale_type)
                scale = self.memory.load(place, self.scale_type)
                for i in range(v, each, self.vectors):
                    totals[i] = self.memory.multiply_add(scale, sums[n * each + i], totals[i])
        return totals

    def _word(self, word: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        """The sums after the integers of one word of each column."""
        b, per, whole = self.b, 32 // self.bits, ir.VectorType(I32, self.lanes)
        held = [
            b.load(self._at(self.weights, self._column(word, v), I32), typ=whole, align=4) for v in range(self.vectors)
        ]
        first, sums = b.mul(word, I64(per)), list(sums)
        for q in range(per):
            numbers = [b.sitofp(self._part(x, q), self.memory.vector) for x in held]
            for r, start in enumerate(self.left):
                own = self.memory.broadcast(self._at(start, b.add(first, I64(q)), F32), "f32")
                for v in range(self.vectors):
                    i = r * self.vectors + v
                    sums[i] = self.memory.multiply_add(numbers[v], own, sums[i])
        return sums

    def _part(self, word: ir.Value, place: int) -> ir.Value:
        """An integer of a word where it stands in it; the highest is moved down, for it would become negative."""
        if place == 32 // self.bits - 1:
            return self.b.lshr(word, self.e.constant(word.type, 32 - self.bits))
        return self.b.and_(word, self.e.constant(word.type, ((1 << self.bits) - 1) << (self.bits * place)))

    def _before(self, block: ir.Value) -> list[ir.Value]:
        """What sums of a block start from: its rows' sums times the zero points, subtracted."""
        b, found = self.b, []
        own = [self.memory.broadcast(self._at(start, block, F32), "f32") for start in self.sums]
        for x in own:
            for v in range(self.vectors):
                found.append(b.fneg(b.fmul(x, self._zero(block, v))))
        return found

    def _zero(self, block: ir.Value, vector: int) -> ir.Value:
        b = self.b
        if len(self.zero) == 1:
            return self.memory.splat(self.zero[0])
        pointer, index = self.zero
        place = self._at(pointer, b.add(index, self._column(block, vector)), I8)
        return b.uitofp(b.load(place, typ=ir.VectorType(I8, self.lanes), align=1), self.memory.vector)

    def _column(self, line: ir.Value, vector: int) -> ir.Value:
        """The index of a vector in a line of a panel."""
        return self.b.add(self.b.mul(line, I64(self.vectors * self.lanes)), I64(vector * self.lanes))

    def _at(self, pointer: ir.Value, index: ir.Value, kind: ir.Type) -> ir.Value:
        return self.b.gep(pointer, [index], source_etype=kind)
