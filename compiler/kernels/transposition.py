"""``transpose_{bits}``: copies a matrix to one whose rows are its columns, block by block in vector registers.

Operands, counted in elements of ``bits`` bits: ``target, index, row stride, source, index, column stride, rows,
columns``. Element ``[r, c]`` of the target comes from ``source[index + r + c * column stride]``: where a plain loop
would touch a cache line for each element, a block reads and writes whole lines.

``transpose_{bits}_picked`` takes the source's columns from anywhere: ``target, index, row stride, source, places, rows,
columns``, where int64 ``places`` tells at which element of the source each column begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.target import target

__all__ = ["block_size", "recipe"]

_NAME = re.compile(r"transpose_(8|16|32|64)(_picked)?")
_LARGEST = 16


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for another name.
    """
    match = matched(_NAME, name)
    index, pointer = types.intp, types.voidptr
    column_starts = (pointer,) if match[2] else (index, index)
    operands = (pointer, index, index, pointer, *column_starts, index, index)
    return micro_kernel(name, operands, partial(_write, int(match[1]), _Picked if match[2] else _Spaced))


def block_size(bits: int) -> int:
    """Rows and columns of a block: as many as a register has lanes, within bounds."""
    return min(_LARGEST, max(2, target().lanes(bits)))


def _write(bits: int, kind: type[_Matrices], e: Emitter, operands: Sequence[ir.Value]) -> None:
    b, matrices = e.b, kind(e, bits, operands)
    rows, columns = operands[-2:]
    size = block_size(bits)
    whole_rows, whole_columns = (b.and_(n, I64(-size)) for n in (rows, columns))
    _each(b, I64(0), whole_columns, size, lambda c: _each(b, I64(0), whole_rows, size, lambda r: matrices.block(r, c)))
    _each(b, I64(0), whole_rows, 1, lambda r: _each(b, whole_columns, columns, 1, lambda c: matrices.element(r, c)))
    _each(b, whole_rows, rows, 1, lambda r: _each(b, I64(0), columns, 1, lambda c: matrices.element(r, c)))


class _Matrices:
    """Moves elements and blocks from the source to the target; where columns begin is told by those below."""

    def __init__(self, e: Emitter, bits: int, operands: Sequence[ir.Value]) -> None:
        self.b, self.size = e.b, block_size(bits)
        self.element_type = ir.IntType(bits)
        self.vector = ir.VectorType(self.element_type, self.size)
        self.target, self.target_start, self.row_stride, self.source = operands[:4]
        self.further = operands[4:-2]

    def element(self, r: ir.Value, c: ir.Value) -> None:
        value = self.b.load(self._source(r, c), typ=self.element_type, align=self.element_type.width // 8)
        self.b.store(value, self._target(r, c), align=self.element_type.width // 8)

    def block(self, r: ir.Value, c: ir.Value) -> None:
        b, align = self.b, self.element_type.width // 8
        lines = [b.load(self._source(r, b.add(c, I64(k))), typ=self.vector, align=align) for k in range(self.size)]
        for k, line in enumerate(_transposed(b, lines)):
            b.store(line, self._target(b.add(r, I64(k)), c), align=align)

    def start(self, c: ir.Value) -> ir.Value:
        """Where a column of the source begins."""
        raise NotImplementedError

    def _source(self, r: ir.Value, c: ir.Value) -> ir.Value:
        return self.b.gep(self.source, [self.b.add(self.start(c), r)], source_etype=self.element_type)

    def _target(self, r: ir.Value, c: ir.Value) -> ir.Value:
        place = self.b.add(self.b.add(self.target_start, c), self.b.mul(r, self.row_stride))
        return self.b.gep(self.target, [place], source_etype=self.element_type)


class _Spaced(_Matrices):
    """Columns at equal distances."""

    def start(self, c: ir.Value) -> ir.Value:
        first, stride = self.further
        return self.b.add(first, self.b.mul(c, stride))


class _Picked(_Matrices):
    """Columns anywhere."""

    def start(self, c: ir.Value) -> ir.Value:
        (places,) = self.further
        return self.b.load(self.b.gep(places, [c], source_etype=I64), typ=I64, align=8)


def _transposed(b: ir.IRBuilder, lines: list[ir.Value]) -> list[ir.Value]:
    """The columns of a square: pairs of lines a distance apart exchange the lanes that differ in that bit."""
    size, distance = len(lines), 1
    while distance < size:
        low = [lane if not lane & distance else size + (lane ^ distance) for lane in range(size)]
        high = [lane | distance if not lane & distance else size + lane for lane in range(size)]
        masks = [ir.Constant(ir.VectorType(I32, size), lanes) for lanes in (low, high)]
        exchanged = list(lines)
        for k in range(size):
            if not k & distance:
                pair = lines[k], lines[k | distance]
                exchanged[k], exchanged[k | distance] = (b.shuffle_vector(*pair, mask) for mask in masks)
        lines, distance = exchanged, 2 * distance
    return lines


def _each(b: ir.IRBuilder, first: ir.Value, last: ir.Value, step: int, body: object) -> None:
    """``for i in range(first, last, step)``; ``last - first`` is a multiple of ``step``."""
    count = b.sdiv(b.sub(last, first), I64(step))

    def once(k: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        body(b.add(first, b.mul(k, I64(step))))  # type: ignore[operator]
        return []

    counted(b, count, [], once)
