"""Micro-kernels for inner products, whose operands lie one after another along what is summed over.

``dot_{rows}x{columns}x{lanes}_{s}_{v}_{register}`` computes ``acc[r, c] = sum over k < n of S[r, k] * V[c, k]``. Its
operands, counted in elements: ``acc, index, pitch, rows, columns, S, index, row stride, V, index, column stride, n``.
If ``rows`` or ``columns`` are fewer than the block has, the last ones are computed again; acc has room for them all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.vectors import VectorMemory, bytes_of

__all__ = ["recipe"]

_NAME = re.compile(r"dot_(\d+)x(\d+)x(\d+)_(f32|f64|f16|bf16)_(f32|f64|f16|bf16)_(f32|f64)")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    rows, columns, lanes = map(int, match.groups()[:3])
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 4, pointer, *[index] * 2, pointer, *[index] * 3)
    writer = partial(_write, rows, columns, lanes, (match[4], match[5], match[6]))
    return micro_kernel(name, operands, writer)


def _write(rows: int, columns: int, lanes: int, kinds: tuple[str, str, str], e: Emitter, a: Sequence[ir.Value]) -> None:
    b, (s_type, v_type, register) = e.b, kinds
    acc, at, pitch, height, width, s, s_at, s_row, v, v_at, v_column, n = a
    memory = VectorMemory(e, lanes, register)
    left = _starts(memory, memory.at(s, s_at, s_type), s_type, rows, height, s_row)
    right = _starts(memory, memory.at(v, v_at, v_type), v_type, columns, width, v_column)

    def products(sums: list[ir.Value], k: ir.Value, mask: ir.Value | None) -> list[ir.Value]:
        own = [memory.load(memory.at(p, k, s_type), s_type, mask) for p in left]
        other = [memory.load(memory.at(p, k, v_type), v_type, mask) for p in right]
        return [
            memory.multiply_add(x, y, sums[i * columns + j]) for i, x in enumerate(own) for j, y in enumerate(other)
        ]

    whole = b.lshr(n, I64(lanes.bit_length() - 1))
    zeros = [e.constant(memory.vector, 0)] * (rows * columns)
    sums = counted(b, whole, zeros, lambda k, now: products(now, b.mul(k, I64(lanes)), None))
    done = b.mul(whole, I64(lanes))
    mask = memory.below(b.trunc(b.sub(n, done), I32))
    # A loop of at most one step: the remainder is often empty.
    rest = b.zext(b.icmp_signed("<", done, n), I64)
    sums = counted(b, rest, sums, lambda _, now: products(now, done, mask))
    for i in range(rows):
        for j in range(columns):
            place = memory.at(acc, b.add(at, b.add(b.mul(I64(i), pitch), I64(j))), register)
            b.store(memory.total(sums[i * columns + j]), place, align=bytes_of(register))


def _starts(
    memory: VectorMemory, first: ir.Value, kind: str, count: int, bound: ir.Value, step: ir.Value
) -> list[ir.Value]:
    """Where each row begins; those from ``bound`` on are the last one again."""
    e, b = memory.e, memory.b
    last = b.sub(bound, I64(1))
    return [memory.at(first, b.mul(e.call("llvm.smin", [I64(i), last]), step), kind) for i in range(count)]
