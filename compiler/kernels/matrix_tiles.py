"""Micro-kernels that multiply whole tiles by Intel's Advanced Matrix Extensions (AMX).

A tile register holds 16 rows of 64 bytes. Registers 0 to 3 hold sums, 4 and 5 rows of the left operand, 6 and 7 columns
of the right one. A kernel calls ``amx_configure(rows)``, with 1 to 16 rows in its tiles, before the micro-kernels and
``amx_release()`` after them: switching between threads costs less while no tile is in use.

``amx_bytes_{16|32}`` multiplies uint8 by int8 like :mod:`basalt.compiler.kernels.byte_tiles`, by 32 columns, with the
same operands. ``n`` counts groups of four steps, a multiple of 16. All of the 16 rows that were configured are
computed; with 32, ``rows`` (at least 16) says where the second 16 end, so that they overlap the first ones.

``amx_split_{16|32}`` multiplies float32 whose numbers are split into three bfloat16 each (see
:mod:`basalt.compiler.kernels.splitting`), 16 or 32 rows by 32 columns. Its operands: ``acc, index, pitch, S, index,
next, V, index, n``. S is at element ``index`` and, its second 16 rows, ``next`` elements further on; ``n`` counts steps
of 32. Of the nine products of pieces the six are summed up that weigh more than a float32's rounding.

``amx_window_{16|32}`` does the same for windows of an image: ``acc, index, pitch, S, index, next, row stride, piece
stride, V, index``, then count and stride in S of the outer, middle and inner loop, each step of which is 32 terms.

Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (TDPBUSD, TDPBF16PS); Henry, Tang and
Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", 2019.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I8, I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import POINTER, counted, micro_kernel

__all__ = ["recipe"]

_NAME = re.compile(r"amx_(configure|release|bytes_16|bytes_32|split_16|split_32|window_16|window_32)")
_VOID = ir.VoidType()
_ROW = 64
"""Bytes of a row of a tile."""
_TILE = 16 * _ROW


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is none of this family.
    """
    match = matched(_NAME, name)
    index, pointer = types.intp, types.voidptr
    kind, _, rows = match[1].partition("_")
    if kind == "release":
        return Recipe(types.void, (), _release)
    if kind == "configure":
        return micro_kernel(name, (index,), _configure)
    if kind == "bytes":
        operands = (pointer, *[index] * 4, pointer, *[index] * 2, pointer, *[index] * 2)
        return micro_kernel(name, operands, partial(_bytes, int(rows) // 16))
    if kind == "window":
        operands = (pointer, *[index] * 2, pointer, *[index] * 4, pointer, *[index] * 7)
        return micro_kernel(name, operands, partial(_window, int(rows) // 16))
    operands = (pointer, *[index] * 2, pointer, *[index] * 2, pointer, *[index] * 2)
    return micro_kernel(name, operands, partial(_split, int(rows) // 16))


def _release(e: Emitter) -> None:
    _tile_call(e, "tilerelease")


def _configure(e: Emitter, arguments: Sequence[ir.Value]) -> None:
    """Sums and left operands have the rows that are asked for, right operands 16."""
    b = e.b
    place = b.alloca(I8, _ROW)
    place.align = _ROW
    fixed = [0] * _ROW
    fixed[0] = 1  # the palette
    fixed[16:32] = [_ROW, 0] * 8  # bytes of a row, 16 bits each
    fixed[48 + 6] = fixed[48 + 7] = 16  # rows
    whole = ir.VectorType(I8, _ROW)
    b.store(ir.Constant(whole, fixed), b.bitcast(place, whole.as_pointer()))
    rows = b.trunc(arguments[0], I8)
    for register in range(6):
        b.store(rows, _byte(b, place, I64(48 + register)))
    _tile_call(e, "ldtilecfg", place)


def _bytes(halves: int, e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    acc, at, pitch, _, rows, s, s_at, s_row, v, v_at, n = a
    second = b.sub(rows, I64(16))
    left = [_byte(b, s, s_at)]
    if halves == 2:
        left.append(_byte(b, left[0], b.mul(second, s_row)))
    right = _byte(b, v, v_at)
    _zero(e, halves)

    def step(k: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        along = b.mul(k, I64(_ROW))
        panel = _byte(b, right, b.mul(k, I64(2 * 16 * _ROW)))
        for j in range(2):
            _load(e, 6 + j, _byte(b, panel, I64(_ROW * j)), I64(2 * _ROW))
        for i, place in enumerate(left):
            _load(e, 4 + i, _byte(b, place, along), s_row)
        _multiply(e, "tdpbusd", halves)
        return []

    counted(b, b.lshr(n, I64(4)), [], step)
    _store(e, halves, acc, at, pitch, b.mul(second, pitch))


def _split(halves: int, e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    acc, at, pitch, s, s_at, following, v, v_at, n = a
    left = _halves(e, halves, s, s_at, following)
    right = _byte(b, v, b.shl(v_at, I64(1)))
    _zero(e, halves)

    def step(k: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        own = [_byte(b, place, b.mul(k, I64(3 * _TILE))) for place in left]
        _six_products(e, own, _byte(b, right, b.mul(k, I64(6 * _TILE))), I64(_ROW), I64(_TILE))
        return []

    counted(b, n, [], step)
    _store(e, halves, acc, at, pitch, b.mul(pitch, I64(16)))


def _window(halves: int, e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    acc, at, pitch, s, s_at, following, stride, piece, v, v_at, *loops = a
    left = _halves(e, halves, s, s_at, following)
    right = _byte(b, v, b.shl(v_at, I64(1)))
    row, piece = b.shl(stride, I64(1)), b.shl(piece, I64(1))
    (outer, outer_step), (middle, middle_step), (inner, inner_step) = zip(loops[::2], loops[1::2])
    inner_bytes = b.shl(inner_step, I64(1))
    _zero(e, halves)

    def each_outer(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        first = b.mul(i, outer_step)

        def each_middle(j: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            start = b.shl(b.add(first, b.mul(j, middle_step)), I64(1))
            (panel,) = carried

            def each_inner(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
                place, now = carried
                _six_products(e, [_byte(b, half, place) for half in left], now, row, piece)
                return [b.add(place, inner_bytes), _byte(b, now, I64(6 * _TILE))]

            return counted(b, inner, [start, panel], each_inner)[1:]

        return counted(b, middle, carried, each_middle)

    counted(b, outer, [right], each_outer)
    _store(e, halves, acc, at, pitch, b.mul(pitch, I64(16)))


def _halves(e: Emitter, halves: int, s: ir.Value, at: ir.Value, following: ir.Value) -> list[ir.Value]:
    """Where the first rows of one or two tiles of bfloat16 are."""
    first = _byte(e.b, s, e.b.shl(at, I64(1)))
    return [first] if halves == 1 else [first, _byte(e.b, first, e.b.shl(following, I64(1)))]


def _six_products(e: Emitter, own: Sequence[ir.Value], panel: ir.Value, row: ir.Value, piece: ir.Value) -> None:
    """The products of pieces that weigh most, small ones first; neighbours share an operand, which is loaded once.

    ``row`` and ``piece`` are the bytes from one row, and from one piece, of the left operand to the next.
    """
    b = e.b
    held: list[int | None] = [None, None]
    for pieces in ((0, 2), (0, 1), (1, 1), (1, 0), (2, 0), (0, 0)):
        if held[1] != pieces[1]:
            for j in range(2):
                _load(e, 6 + j, _byte(b, panel, I64(2 * _TILE * pieces[1] + _ROW * j)), I64(2 * _ROW))
        if held[0] != pieces[0]:
            for i, place in enumerate(own):
                _load(e, 4 + i, _byte(b, place, b.mul(piece, I64(pieces[0]))), row)
        held = list(pieces)
        _multiply(e, "tdpbf16ps", len(own))


def _zero(e: Emitter, halves: int) -> None:
    for register in range(2 * halves):
        _tile_call(e, "tilezero", I8(register))


def _load(e: Emitter, register: int, place: ir.Value, stride: ir.Value) -> None:
    _tile_call(e, "tileloadd64", I8(register), place, stride)


def _multiply(e: Emitter, instruction: str, halves: int) -> None:
    """Every tile of the left operand by both of the right one."""
    for i in range(halves):
        for j in range(2):
            _tile_call(e, instruction, I8(2 * i + j), I8(4 + i), I8(6 + j))


def _store(e: Emitter, halves: int, acc: ir.Value, at: ir.Value, pitch: ir.Value, second: ir.Value) -> None:
    b = e.b
    stride = b.shl(pitch, I64(2))
    for i in range(halves):
        first = b.add(at, second) if i else at
        for j in range(2):
            place = b.gep(acc, [b.add(first, I64(16 * j))], source_etype=I32)
            _tile_call(e, "tilestored64", I8(2 * i + j), place, stride)


def _byte(b: ir.IRBuilder, pointer: ir.Value, distance: ir.Value) -> ir.Value:
    return b.gep(pointer, [distance], source_etype=I8)


def _tile_call(e: Emitter, instruction: str, *operands: ir.Value) -> None:
    kinds = [POINTER if isinstance(o.type, ir.PointerType) else o.type for o in operands]
    function = e.declare(f"llvm.x86.{instruction}", ir.FunctionType(_VOID, kinds))
    e.b.call(function, operands)
