"""float32 numbers as three bfloat16 each, whose sum they are, for products of tiles (see ``matrix_tiles``).

A bfloat16 has 8 significant bits, so three hold a float32's 24: each is what the ones before leave, rounded to nearest.
What is less than about 2^-126 counts as 0, as in the products. Rows lie as tiles ``[step of 32][piece][16 rows][32]``,
columns as ``[step][piece][16 pairs][32 columns][2]``.

``split_rows(target, index, source, index, row stride, rows, depth)`` splits 1 to 16 rows, of unit stride along the
depth, and fills the tiles up with zeros. It returns a bit for each row, the lowest for the first: whether one of its
numbers is too large for a bfloat16, infinite or no number, which pieces cannot stand for.

``split_pixels(target, index, piece stride, source, index, pixel stride, pixels, channels)`` splits up to 32 channels of
pixels that lie in a row; the pieces ``[pixel][32]`` are a stride apart. Channels that are not there are 0. It returns
1 if a number of any pixel is too large, else 0.

``split_sums(acc, index, pitch, rows of float32, index, row stride, rows, columns, index, depth, fresh)`` multiplies
rows that are not split by 32 columns that are, element by element, and so takes those numbers, too; the products are
added to ``acc`` unless it is ``fresh``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import F32, I16, I32, I64, Emitter, Recipe
from basalt.compiler.kernels.loops import counted, internal_function, micro_kernel
from basalt.compiler.kernels.split_layout import COLUMNS, HALF, HIGH, PIECES, ROWS, STEP
from basalt.compiler.kernels.vectors import VectorMemory

__all__ = ["recipe"]

_LANES = 16
_TILE = ROWS * STEP
_PANEL = STEP * COLUMNS
Writer = Callable[[Emitter, Sequence[ir.Value]], None]
_LARGEST = 0x7F7F7FFF
"""Bits of the greatest float32 that is rounded to a finite bfloat16."""


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for another name.
    """
    index, pointer = types.intp, types.voidptr
    if name == "split_rows":
        return Recipe(types.int64, (pointer, index, pointer, *[index] * 4), _split_rows)
    if name == "split_pixels":
        return Recipe(types.int64, (pointer, *[index] * 2, pointer, *[index] * 4), _split_pixels)
    if name == "split_sums":
        operands = (pointer, *[index] * 2, pointer, *[index] * 3, pointer, *[index] * 3)
        return micro_kernel(name, operands, _split_sums)
    raise KeyError(name)


def _split_rows(e: Emitter, *arguments: ir.Value) -> ir.Value:
    return _told(e, "split_rows", _write_rows, arguments)


def _split_pixels(e: Emitter, *arguments: ir.Value) -> ir.Value:
    return _told(e, "split_pixels", _write_pixels, arguments)


def _told(e: Emitter, name: str, write: Writer, arguments: Sequence[ir.Value]) -> ir.Value:
    """What an internal function stores behind its last operand."""
    with e.b.goto_entry_block():
        result = e.b.alloca(I64)
    internal_function(name, write, e, *arguments, result)
    return e.b.load(result, typ=I64)


def _write_rows(e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    target, to, source, at, stride, rows, depth, result = a
    steps = b.lshr(b.add(depth, I64(STEP - 1)), I64(5))

    def each_row(row: ir.Value, found: list[ir.Value]) -> list[ir.Value]:
        # A row that is not there is not read.
        inside = b.icmp_signed("<", row, rows)
        first, place = b.add(at, b.mul(row, stride)), b.add(to, b.mul(row, I64(STEP)))

        def each_step(step: ir.Value, worst: list[ir.Value]) -> list[ir.Value]:
            along = b.mul(step, I64(STEP))
            length = b.select(inside, b.sub(depth, along), I64(0))
            goal = (target, b.add(place, b.mul(step, I64(PIECES * _TILE))), I64(_TILE))
            return [_split_step(e, goal, (source, b.add(first, along)), length, worst[0])]

        (worst,) = counted(b, steps, [_none(e)], each_step)
        return [b.or_(found[0], b.shl(_too_large(e, worst), row))]

    (found,) = counted(b, I64(ROWS), [I64(0)], each_row)
    b.store(found, result)


def _write_pixels(e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    target, to, piece, source, at, stride, pixels, channels, result = a

    def each_pixel(pixel: ir.Value, worst: list[ir.Value]) -> list[ir.Value]:
        first, place = b.add(at, b.mul(pixel, stride)), b.add(to, b.mul(pixel, I64(STEP)))
        return [_split_step(e, (target, place, piece), (source, first), channels, worst[0])]

    (worst,) = counted(b, pixels, [_none(e)], each_pixel)
    b.store(_too_large(e, worst), result)


def _none(e: Emitter) -> ir.Value:
    return e.constant(ir.VectorType(I32, _LANES), 0)


def _split_step(
    e: Emitter,
    target: tuple[ir.Value, ir.Value, ir.Value],
    source: tuple[ir.Value, ir.Value],
    length: ir.Value,
    worst: ir.Value,
) -> ir.Value:
    """Split up to 32 numbers that lie side by side; returns the greatest magnitudes' bits so far.

    ``target`` is a pointer, an index and the distance between pieces, ``source`` a pointer and an index.
    """
    b, memory, bits = e.b, VectorMemory(e, _LANES, "f32"), ir.VectorType(I32, _LANES)
    pointer, place, piece = target
    count = b.trunc(e.call("llvm.smin", [length, I64(STEP)]), I32)
    for half in range(STEP // _LANES):
        inside = memory.below(count, half * _LANES)
        value = memory.load(memory.at(source[0], b.add(source[1], I64(half * _LANES)), "f32"), "f32", inside)
        worst = e.call("llvm.umax", [worst, b.and_(b.bitcast(value, bits), e.constant(bits, 0x7FFFFFFF))])
        for number, words in enumerate(_pieces(e, value)):
            offset = b.add(b.add(place, b.mul(piece, I64(number))), I64(half * _LANES))
            b.store(words, b.gep(pointer, [offset], source_etype=I16), align=2)
    return worst


def _too_large(e: Emitter, worst: ir.Value) -> ir.Value:
    """Whether a magnitude is too large, as 0 or 1."""
    reduce = e.declare(f"llvm.vector.reduce.umax.v{_LANES}i32", ir.FunctionType(I32, [worst.type]))
    return e.b.zext(e.b.icmp_unsigned(">", e.b.call(reduce, [worst]), I32(_LARGEST)), I64)


def _pieces(e: Emitter, value: ir.Value) -> list[ir.Value]:
    """The bits of the bfloat16s that add up to each lane's number."""
    b, bits = e.b, ir.VectorType(I32, _LANES)
    found = []
    for piece in range(PIECES):
        rounded = b.and_(b.add(b.bitcast(value, bits), e.constant(bits, HALF)), e.constant(bits, HIGH - 2**32))
        found.append(b.trunc(b.lshr(rounded, e.constant(bits, 16)), ir.VectorType(I16, _LANES)))
        if piece + 1 < PIECES:
            value = b.fsub(value, b.bitcast(rounded, value.type))
    return found


def _split_sums(e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    acc, to, pitch, left, at, stride, rows, right, v_at, depth, fresh = a
    memory = VectorMemory(e, _LANES, "f32")
    zeros = [e.constant(memory.vector, 0)] * (COLUMNS // _LANES)

    def each_row(row: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        own = memory.at(left, b.add(at, b.mul(row, stride)), "f32")

        def each_step(k: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
            element = memory.broadcast(memory.at(own, k, "f32"), "f32")
            columns = _columns(e, right, v_at, k)
            return [memory.multiply_add(element, column, total) for column, total in zip(columns, sums)]

        for j, total in enumerate(counted(b, depth, zeros, each_step)):
            place = memory.at(acc, b.add(to, b.add(b.mul(row, pitch), I64(_LANES * j))), "f32")
            old = b.load(place, typ=memory.vector, align=4)
            kept = b.select(b.icmp_signed("!=", fresh, I64(0)), e.constant(memory.vector, 0), old)
            b.store(b.fadd(kept, total), place, align=4)
        return []

    counted(b, rows, [], each_row)


def _columns(e: Emitter, right: ir.Value, at: ir.Value, k: ir.Value) -> list[ir.Value]:
    """Step ``k`` of all columns of a panel, put together from its pieces."""
    b, bits = e.b, ir.VectorType(I32, _LANES)
    step, pair = b.lshr(k, I64(5)), b.lshr(b.and_(k, I64(STEP - 1)), I64(1))
    base = b.add(at, b.add(b.mul(step, I64(PIECES * _PANEL)), b.mul(pair, I64(2 * COLUMNS))))
    down = VectorMemory(e, _LANES, "i32").splat(b.trunc(b.shl(b.and_(k, I64(1)), I64(4)), I32))
    found = []
    for j in range(COLUMNS // _LANES):
        total = None
        for piece in reversed(range(PIECES)):
            place = b.gep(right, [b.add(base, I64(piece * _PANEL + 2 * _LANES * j))], source_etype=I16)
            words = b.shl(b.lshr(b.load(place, typ=bits, align=2), down), e.constant(bits, 16))
            number = b.bitcast(words, ir.VectorType(F32, _LANES))
            total = number if total is None else b.fadd(total, number)
        found.append(total)
    return found
