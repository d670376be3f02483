"""Register-tiled micro-kernels for products of bytes, summed up in int32, which wraps around.

``bytetile_{rows}x{vectors}x{lanes}_{form}`` computes, for ``rows`` rows and ``vectors * lanes`` columns,
``acc[r, j] = sum over k < 4 * n of S[r, k] * V[k, j]``. The form says how products are added, and in which order the
operands hold groups of four steps:

- ``vnni`` (x86's vpdpbusd adds up four): ``S`` holds uint8, ``V`` int8 [n, columns, 4].
- ``pairs`` (x86's pmaddwd adds up two products of 16 bits): ``S`` holds int16, ``V`` int8 [n, 2, columns, 2], widened
  where it is read. No sum of two products may reach 2**31.
- ``quads`` (x86's pmaddubsw adds up two products of bytes in 16 bits): as ``vnni``, but the positive numbers of the two
  steps of a pair in V may add up to 128 at most, the negative ones to -128. What exceeds that stands in further groups,
  which four more operands describe: ``X, P, first, last``. X holds int8 [..., columns, 4], of which those from
  ``first`` to ``last`` are multiplied by the groups of S whose numbers int32 P holds.
- ``eights`` as ``quads``, but the bounds hold for the four steps of the same pair of two groups together, other than in
  X. ``n`` is even.
- ``plain`` (any CPU): as ``vnni``.

Operands: ``acc, index, pitch, spare, rows, S, index, row stride, V, index, n``; acc is counted in int32 elements, S in
its own elements, V in bytes. ``rows`` may be fewer than the tile has: row ``rows - 1`` is then computed again, into the
row of acc at index ``spare``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial

import llvmlite.binding as llvm
from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I8, I16, I32, I64, Emitter, Recipe
from basalt.compiler.kernels.loops import POINTER, counted, micro_kernel

__all__ = ["add_bytes", "add_short", "recipe", "widened"]

_NAME = re.compile(r"bytetile_(\d+)x(\d+)x(\d+)_(vnni|pairs|quads|eights|plain)")
_VNNI = {16: "llvm.x86.avx512.vpdpbusd.512", 8: "llvm.x86.avx512.vpdpbusd.256", 4: "llvm.x86.avx512.vpdpbusd.128"}
_QUADS = {16: "llvm.x86.avx512.pmaddubs.w.512", 8: "llvm.x86.avx2.pmadd.ub.sw"}
LINE = 64
"""Bytes of a cache line."""
_BOUNDED = {"quads": 1, "eights": 2}
"""The forms that add up in 16 bits, and the groups whose products these hold."""
_PAIRS = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = _NAME.fullmatch(name)
    if match is None or int(match[3]) not in _lanes(match[4], int(match[3])):
        raise KeyError(name)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 4, pointer, *[index] * 2, pointer, *[index] * 2)
    if match[4] in _BOUNDED:
        operands = (*operands, pointer, pointer, index, index)
    writer = partial(_write, int(match[1]), int(match[2]), int(match[3]), match[4])
    return micro_kernel(name, operands, writer)


def _write(rows: int, vectors: int, lanes: int, form: str, e: Emitter, a: Sequence[ir.Value]) -> None:
    b, vector = e.b, ir.VectorType(I32, lanes)
    acc, at, pitch, spare, height, s, s_at, s_row, v, v_at, n, *further = a
    last = b.sub(height, I64(1))
    size = 2 if form == "pairs" else 1
    first = _byte(b, s, b.mul(s_at, I64(size)))
    step = b.mul(s_row, I64(size))
    left = [_byte(b, first, b.mul(e.call("llvm.smin", [I64(r), last]), step)) if r else first for r in range(rows)]
    panel = _byte(b, v, v_at)
    steps = _BOUNDED.get(form, 1)

    def groups(number: int, place: ir.Value, along: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        """The sums after some groups whose products are added up before they are added to the sums."""
        for part in range(2 if form == "pairs" else 1):
            shared = [_shared(e, form, place, vectors * part + i, lanes) for i in range(number * vectors)]
            for r, start in enumerate(left):
                own = [
                    _splat(b, b.load(_byte(b, start, b.add(along, I64(4 * (part + q)))), typ=I32, align=1), vector)
                    for q in range(number)
                ]
                for j in range(vectors):
                    sums[r * vectors + j] = _products(e, form, sums[r * vectors + j], own, shared[j::vectors])
        return sums

    bytes_of_group = I64(4 * vectors * lanes)

    def whole(k: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        k = b.mul(k, I64(steps))
        if form in _BOUNDED or form == "pairs":
            _prefetch(e, _byte(b, panel, b.mul(b.add(k, n), bytes_of_group)), 4 * vectors * lanes * steps)
        return groups(steps, _byte(b, panel, b.mul(k, bytes_of_group)), b.mul(k, I64(4 * size)), sums)

    def extra(k: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        number = b.add(further[2], k)
        of = b.sext(b.load(b.gep(further[1], [number], source_etype=I32), typ=I32, align=4), I64)
        return groups(1, _byte(b, further[0], b.mul(number, bytes_of_group)), b.mul(of, I64(4)), sums)

    sums = counted(b, b.sdiv(n, I64(steps)), [e.constant(vector, 0)] * (rows * vectors), whole)
    if further:
        sums = counted(b, b.sub(further[3], further[2]), sums, extra)
    for r in range(rows):
        start = b.add(at, b.mul(I64(r), pitch))
        if r:
            start = b.select(b.icmp_signed("<", I64(r), height), start, spare)
        for j in range(vectors):
            place = b.gep(acc, [b.add(start, I64(j * lanes))], source_etype=I32)
            b.store(sums[r * vectors + j], place, align=4)


def _prefetch(e: Emitter, place: ir.Value, size: int) -> None:
    """Have some bytes brought to the second-level cache: those of the next panel, on which few rows would wait."""
    kinds = [POINTER, I32, I32, I32]
    function = e.declare("llvm.prefetch.p0", ir.FunctionType(ir.VoidType(), kinds))
    for at in range(0, size, LINE):
        e.b.call(function, [_byte(e.b, place, I64(at)), I32(0), I32(2), I32(1)])


def _byte(b: ir.IRBuilder, pointer: ir.Value, distance: ir.Value) -> ir.Value:
    return b.gep(pointer, [distance], source_etype=I8)


def _splat(b: ir.IRBuilder, scalar: ir.Value, vector: ir.VectorType) -> ir.Value:
    undefined = ir.Constant(vector, ir.Undefined)
    first = b.insert_element(undefined, scalar, I32(0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, vector.count), [0] * vector.count))


def _shared(e: Emitter, form: str, panel: ir.Value, number: int, lanes: int) -> ir.Value:
    """The vector of a number of a group of the right operand, two bytes of each column as 16 bits, or four bytes."""
    b = e.b
    if form != "pairs":
        return b.load(_byte(b, panel, I64(4 * lanes * number)), typ=ir.VectorType(I32, lanes), align=4)
    place = _byte(b, panel, I64(2 * lanes * number))
    return b.sext(b.load(place, typ=ir.VectorType(I8, 2 * lanes), align=1), ir.VectorType(I16, 2 * lanes))


def _products(e: Emitter, form: str, total: ir.Value, own: list[ir.Value], shared: list[ir.Value]) -> ir.Value:
    """``total`` plus the products of each lane."""
    b, lanes = e.b, total.type.count
    if form in _BOUNDED:
        first, *others = (add_short(e, x, y) for x, y in zip(own, shared))
        for other in others:
            first = b.add(first, other)
        return b.add(total, widened(e, first, total.type))
    (x,), (y,) = own, shared
    if form == "vnni":
        return add_bytes(e, total, x, y)
    if form == "pairs":
        function = e.declare(_PAIRS[lanes], ir.FunctionType(total.type, [y.type, y.type]))
        return b.add(total, b.call(function, [b.bitcast(x, y.type), y]))
    top = e.constant(y.type, 24)
    for q in range(4):
        factor = b.and_(b.lshr(x, e.constant(x.type, 8 * q)), e.constant(x.type, 255))
        total = b.add(total, b.mul(factor, b.ashr(b.shl(y, e.constant(y.type, 24 - 8 * q)), top)))
    return total


def add_bytes(e: Emitter, total: ir.Value, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
    """``total`` plus the products of four bytes of each lane of 32 bits."""
    b, lanes = e.b, total.type.count
    # LLVM 22 gave the instruction's operands their own type.
    kind = ir.VectorType(I8, 4 * lanes) if llvm.llvm_version_info >= (22,) else total.type
    function = e.declare(_VNNI[lanes], ir.FunctionType(total.type, [total.type, kind, kind]))
    return b.call(function, [total, b.bitcast(unsigned, kind), b.bitcast(signed, kind)])


def add_short(e: Emitter, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
    """The sums in 16 bits of the products of two bytes, which must fit."""
    b, lanes = e.b, unsigned.type.count
    whole, halves = ir.VectorType(I8, 4 * lanes), ir.VectorType(I16, 2 * lanes)
    function = e.declare(_QUADS[lanes], ir.FunctionType(halves, [whole, whole]))
    return b.call(function, [b.bitcast(unsigned, whole), b.bitcast(signed, whole)])


def widened(e: Emitter, halves: ir.Value, kind: ir.VectorType) -> ir.Value:
    """The sums of two neighbours of 16 bits in 32."""
    function = e.declare(_PAIRS[kind.count], ir.FunctionType(kind, [halves.type, halves.type]))
    return e.b.call(function, [halves, e.constant(halves.type, 1)])


def _lanes(form: str, lanes: int) -> Collection[int]:
    """The lanes that a form can have."""
    if form == "plain":
        return (lanes,)
    return _QUADS if form in _BOUNDED else _PAIRS
