"""Register-tiled micro-kernels for products of bytes, summed up in int32, which wraps around.

``bytetile_{rows}x{vectors}x{lanes}_{form}`` computes, for ``rows`` rows and ``vectors * lanes`` columns,
``acc[r, j] = sum over k < 4 * n of S[r, k] * V[k // 4, j, k % 4]``: ``S`` holds uint8, ``V`` int8, in which groups of
four steps lie together. Its operands: ``acc, index, pitch, spare, rows, S, index, row stride, V, index, n``; acc is
counted in int32 elements, S and V in bytes. ``rows`` may be fewer than the tile has: row ``rows - 1`` is then computed
again, into the row of acc at index ``spare``.

The form says how four products are added: ``vnni`` (x86's vpdpbusd), ``pairs`` (x86's pmaddwd, on even and odd bytes
widened to 16 bits, whose sums of two cannot overflow) or ``plain`` (any CPU).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types

from basalt.compiler.kernels.emit import I8, I16, I32, I64, Emitter, Recipe
from basalt.compiler.kernels.loops import counted, internal_function

__all__ = ["recipe"]

_NAME = re.compile(r"bytetile_(\d+)x(\d+)x(\d+)_(vnni|pairs|plain)")
_VNNI = {16: "llvm.x86.avx512.vpdpbusd.512", 8: "llvm.x86.avx512.vpdpbusd.256", 4: "llvm.x86.avx512.vpdpbusd.128"}
_PAIRS = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = _NAME.fullmatch(name)
    if match is None or (match[4] != "plain" and int(match[3]) not in _PAIRS):
        raise KeyError(name)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 4, pointer, *[index] * 2, pointer, *[index] * 2)
    writer = partial(_write, int(match[1]), int(match[2]), int(match[3]), match[4])
    return Recipe(types.void, operands, partial(internal_function, name, writer))


def _write(rows: int, vectors: int, lanes: int, form: str, e: Emitter, a: Sequence[ir.Value]) -> None:
    b, vector = e.b, ir.VectorType(I32, lanes)
    acc, at, pitch, spare, height, s, s_at, s_row, v, v_at, n = a
    last = b.sub(height, I64(1))
    left = [
        _byte(b, s, b.add(s_at, b.mul(e.call("llvm.smin", [I64(r), last]), s_row)) if r else s_at) for r in range(rows)
    ]
    panel = _byte(b, v, v_at)

    def step(k: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        four = b.mul(k, I64(4))
        place = _byte(b, panel, b.mul(four, I64(vectors * lanes)))
        shared = [b.load(_byte(b, place, I64(4 * lanes * j)), typ=vector, align=4) for j in range(vectors)]
        held = [_signed_parts(e, form, x) for x in shared]
        done = []
        for r, start in enumerate(left):
            own = _splat(b, b.load(_byte(b, start, four), typ=I32, align=1), vector)
            parts = _unsigned_parts(e, form, own)
            done += [_products(e, form, sums[r * vectors + j], parts, held[j]) for j in range(vectors)]
        return done

    sums = counted(b, n, [e.constant(vector, 0)] * (rows * vectors), step)
    for r in range(rows):
        start = b.add(at, b.mul(I64(r), pitch))
        if r:
            start = b.select(b.icmp_signed("<", I64(r), height), start, spare)
        for j in range(vectors):
            place = b.gep(acc, [b.add(start, I64(j * lanes))], source_etype=I32)
            b.store(sums[r * vectors + j], place, align=4)


def _byte(b: ir.IRBuilder, pointer: ir.Value, distance: ir.Value) -> ir.Value:
    return b.gep(pointer, [distance], source_etype=I8)


def _splat(b: ir.IRBuilder, scalar: ir.Value, vector: ir.VectorType) -> ir.Value:
    undefined = ir.Constant(vector, ir.Undefined)
    first = b.insert_element(undefined, scalar, I32(0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, vector.count), [0] * vector.count))


def _signed_parts(e: Emitter, form: str, x: ir.Value) -> list[ir.Value]:
    """Four int8 of each lane in the shape that the form multiplies: as they are, 16 bits each, or 32 bits each."""
    b, lanes = e.b, x.type.count
    if form == "vnni":
        return [x]
    if form == "pairs":
        half = b.bitcast(x, ir.VectorType(I16, 2 * lanes))
        eight = e.constant(half.type, 8)
        return [b.ashr(b.shl(half, eight), eight), b.ashr(half, eight)]
    top = e.constant(x.type, 24)
    return [b.ashr(b.shl(x, e.constant(x.type, 24 - 8 * q)), top) for q in range(4)]


def _unsigned_parts(e: Emitter, form: str, x: ir.Value) -> list[ir.Value]:
    """As :func:`_signed_parts`, of four uint8."""
    b, lanes = e.b, x.type.count
    if form == "vnni":
        return [x]
    if form == "pairs":
        half = b.bitcast(x, ir.VectorType(I16, 2 * lanes))
        return [b.and_(half, e.constant(half.type, 255)), b.lshr(half, e.constant(half.type, 8))]
    return [b.and_(b.lshr(x, e.constant(x.type, 8 * q)), e.constant(x.type, 255)) for q in range(4)]


def _products(e: Emitter, form: str, total: ir.Value, x: list[ir.Value], y: list[ir.Value]) -> ir.Value:
    """``total`` plus the four products of each lane."""
    b, lanes = e.b, total.type.count
    if form == "vnni":
        # LLVM 22 gave the instruction's operands their own type.
        kind = ir.VectorType(I8, 4 * lanes) if llvm.llvm_version_info >= (22,) else total.type
        function = e.declare(_VNNI[lanes], ir.FunctionType(total.type, [total.type, kind, kind]))
        return b.call(function, [total, b.bitcast(x[0], kind), b.bitcast(y[0], kind)])
    if form == "pairs":
        function = e.declare(_PAIRS[lanes], ir.FunctionType(total.type, [x[0].type, x[0].type]))
        for own, other in zip(x, y):
            total = b.add(total, b.call(function, [own, other]))
        return total
    for own, other in zip(x, y):
        total = b.add(total, b.mul(own, other))
    return total
