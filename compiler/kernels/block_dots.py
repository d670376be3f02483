"""Micro-kernels for products of numbers rounded to 8 bits with integers of 4 bits, blocks of which share a scale.

``blockround_{size}`` rounds a row of float32 to int8 in chunks of ``size`` (16 or 32) elements, each of which is a step
times an integer from -127 to 127: operands ``Q, index, M, index, S, index, chunks``. Of eight neighbours those at even
places stand before those at odd ones. M gets each chunk's step, and the sum of its integers.

``blockdot_{rows}x{vectors}x{lanes}_{size}_{vnni|pairs}_{f32|f16}_{one|each}`` multiplies such rows by ``vectors *
lanes`` columns over blocks of some chunks::

    acc[r, j] = sum over b and c in b of scale[b, j] * step[r, c] * sum over k in c of Q[r, k] * (W[k, j] - zero[b, j])

Operands: ``acc, index, pitch, spare, rows, Q, index, row stride, M, index, row stride, W, index, scale, index``, then
``zero`` as a number (``one``) or a pointer to uint8 and an index (``each``), ``blocks, chunks``. W holds uint32 [...,
columns] of eight integers each, the first in the lowest bits; for the others see
:mod:`basalt.compiler.kernels.block_tiles`. Sums over a chunk are exact. Each row's and column's are added up in one
order, whatever the tile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.byte_tiles import add_bytes, add_short, widened
from basalt.compiler.kernels.emit import F32, I8, I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.vectors import VectorMemory

__all__ = ["recipe"]

_ROUND = re.compile(r"blockround_(16|32)")
_DOT = re.compile(r"blockdot_(\d+)x(\d+)x(8|16)_(16|32)_(vnni|pairs)_(f32|f16)_(one|each)")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is none of this family.
    """
    index, pointer = types.intp, types.voidptr
    if rounding := _ROUND.fullmatch(name):
        operands = (pointer, index, pointer, index, pointer, index, index)
        return micro_kernel(name, operands, partial(_round, int(rounding[1])))
    match = matched(_DOT, name)
    rows, vectors, lanes, size = (int(match[i]) for i in range(1, 5))
    zero = (types.float32,) if match[7] == "one" else (pointer, index)
    operands = (pointer, *[index] * 4, *(pointer, index, index) * 2, *(pointer, index) * 2, *zero, index, index)

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _Writer((rows, vectors, lanes), size // 8, (match[5], match[6]), e, arguments).write()

    return micro_kernel(name, operands, write)


def _round(size: int, e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    q, q_at, m, m_at, s, s_at, chunks = a
    wide, narrow = ir.VectorType(F32, size), ir.VectorType(I8, size)
    source, target, marks = _at(b, s, s_at, F32), _at(b, q, q_at, I8), _at(b, m, m_at, F32)
    order = [8 * (i // 8) + (2 * (i % 4) + i % 8 // 4) for i in range(size)]

    def chunk(c: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        x = b.load(_at(b, source, b.mul(c, I64(size)), F32), typ=wide, align=4)
        top = _reduced(e, "fmax", e.call("llvm.fabs", [x]))
        step = b.fdiv(top, ir.Constant(F32, 127.0))
        inverse = b.fdiv(ir.Constant(F32, 127.0), top)
        none = b.fcmp_ordered("<", top, ir.Constant(F32, 2.0**-100))
        inverse = b.select(none, ir.Constant(F32, 0.0), inverse)
        first = b.insert_element(ir.Constant(wide, ir.Undefined), inverse, I32(0))
        spread = b.shuffle_vector(first, first, ir.Constant(ir.VectorType(I32, size), [0] * size))
        whole = b.fptosi(e.call("llvm.rint", [b.fmul(x, spread)]), ir.VectorType(I32, size))
        bytes_ = b.trunc(whole, narrow)
        placed = b.shuffle_vector(bytes_, bytes_, ir.Constant(ir.VectorType(I32, size), order))
        b.store(placed, _at(b, target, b.mul(c, I64(size)), I8), align=1)
        place = _at(b, marks, b.mul(c, I64(2)), F32)
        b.store(step, place, align=4)
        b.store(b.sitofp(_reduced(e, "add", whole), F32), _at(b, place, I64(1), F32), align=4)
        return []

    counted(b, chunks, [], chunk)


def _reduced(e: Emitter, what: str, vector: ir.Value) -> ir.Value:
    kind = "f32" if vector.type.element == F32 else "i32"
    name = f"llvm.vector.reduce.{what}.v{vector.type.count}{kind}"
    return e.b.call(e.declare(name, ir.FunctionType(vector.type.element, [vector.type])), [vector])


def _at(b: ir.IRBuilder, pointer: ir.Value, index: ir.Value, kind: ir.Type) -> ir.Value:
    return b.gep(pointer, [index], source_etype=kind)


class _Writer:
    def __init__(
        self, shape: tuple[int, int, int], words: int, forms: tuple[str, str], e: Emitter, a: Sequence[ir.Value]
    ) -> None:
        self.rows, self.vectors, self.lanes = shape
        self.words, (self.form, self.scale_type) = words, forms
        self.e, self.b, self.memory = e, e.b, VectorMemory(e, self.lanes, "f32")
        self.whole = ir.VectorType(I32, self.lanes)
        self.acc, self.place, self.pitch, self.spare, self.height = a[:5]
        self.left = self._lines(a[5], a[6], a[7], I8)
        self.marks = self._lines(a[8], a[9], a[10], F32)
        self.weights = _at(self.b, a[11], a[12], I32)
        self.scales = self.memory.at(a[13], a[14], self.scale_type)
        *self.zero, self.blocks, self.chunks = a[15:]

    def _lines(self, pointer: ir.Value, index: ir.Value, stride: ir.Value, kind: ir.Type) -> list[ir.Value]:
        b = self.b
        last = b.sub(self.height, I64(1))
        offsets = [b.mul(self.e.call("llvm.smin", [I64(r), last]), stride) for r in range(self.rows)]
        return [_at(b, pointer, b.add(index, offset), kind) for offset in offsets]

    def write(self) -> None:
        b = self.b

        def block(number: ir.Value, totals: list[ir.Value]) -> list[ir.Value]:
            first = b.mul(number, self.chunks)
            scale = [
                self.memory.load(self._column(self.scales, number, v, self.scale_type), self.scale_type)
                for v in self._all
            ]
            zero = [self._zero(number, v) for v in self._all]
            return counted(b, self.chunks, totals, lambda c, t: self._chunk(b.add(first, c), t, scale, zero))

        zeros = [self.e.constant(self.memory.vector, 0)] * (self.rows * self.vectors)
        totals = counted(b, self.blocks, zeros, block)
        for r in range(self.rows):
            start = b.add(self.place, b.mul(I64(r), self.pitch))
            if r:
                start = b.select(b.icmp_signed("<", I64(r), self.height), start, self.spare)
            for v in self._all:
                place = _at(b, self.acc, b.add(start, I64(v * self.lanes)), F32)
                b.store(totals[r * self.vectors + v], place, align=4)

    @property
    def _all(self) -> range:
        return range(self.vectors)

    def _chunk(
        self, chunk: ir.Value, totals: list[ir.Value], scale: list[ir.Value], zero: list[ir.Value]
    ) -> list[ir.Value]:
        b, memory, found = self.b, self.memory, list(totals)
        sums = self._sums(b.mul(chunk, I64(self.words)))
        for r, start in enumerate(self.marks):
            place = _at(b, start, b.mul(chunk, I64(2)), F32)
            step, total = (memory.broadcast(_at(b, place, I64(i), F32), "f32") for i in range(2))
            for v in self._all:
                i = r * self.vectors + v
                whole = b.fsub(b.sitofp(sums[i], memory.vector), b.fmul(zero[v], total))
                found[i] = memory.multiply_add(b.fmul(whole, step), scale[v], found[i])
        return found

    def _sums(self, first: ir.Value) -> list[ir.Value]:
        """The sums in 32 bits of a chunk whose first word has a number."""
        b, sums = self.b, [None] * (self.rows * self.vectors)
        low = self.e.constant(self.whole, 0x0F0F0F0F)
        for w in range(self.words):
            word = b.add(first, I64(w))
            held = [b.load(self._column(self.weights, word, v, "i32"), typ=self.whole, align=4) for v in self._all]
            halves = [
                [b.and_(x, low) for x in held],
                [b.and_(b.lshr(x, self.e.constant(self.whole, 4)), low) for x in held],
            ]
            for r, start in enumerate(self.left):
                for part, codes in enumerate(halves):
                    place = _at(b, start, b.add(b.mul(word, I64(8)), I64(4 * part)), I8)
                    own = self.memory.splat(b.load(place, typ=I32, align=1))
                    for v in self._all:
                        i = r * self.vectors + v
                        sums[i] = self._added(sums[i], codes[v], own)
        return sums if self.form == "vnni" else [widened(self.e, x, self.whole) for x in sums]

    def _added(self, total: ir.Value | None, codes: ir.Value, own: ir.Value) -> ir.Value:
        """A sum and the products of codes by bytes: in 32 bits, or 16, which hold those of 32 steps."""
        if self.form == "vnni":
            return add_bytes(self.e, self.e.constant(self.whole, 0) if total is None else total, codes, own)
        products = add_short(self.e, codes, own)
        return products if total is None else self.b.add(total, products)

    def _zero(self, block: ir.Value, vector: int) -> ir.Value:
        if len(self.zero) == 1:
            return self.memory.splat(self.zero[0])
        pointer, index = self.zero
        place = self._column(_at(self.b, pointer, index, I8), block, vector, "u8")
        return self.b.uitofp(self.b.load(place, typ=ir.VectorType(I8, self.lanes), align=1), self.memory.vector)

    def _column(self, pointer: ir.Value, line: ir.Value, vector: int, kind: str) -> ir.Value:
        """The place of a vector in a line of a panel."""
        index = self.b.add(self.b.mul(line, I64(self.vectors * self.lanes)), I64(vector * self.lanes))
        return self.memory.at(pointer, index, kind)
