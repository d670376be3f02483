"""Codes of a feature's values: how many thresholds lie below each, found by bisection of many values at once.

``treecode_{kind}_{x}_{code}_{form}`` fills 64 codes. Its operands: ``x, index, stride, count`` (elements; the last of
``count`` values stands for those that are missing of 64), ``table, index, steps, n``, ``codes, index``. The table holds
``n`` ascending values and is padded to ``2**steps - 1`` with infinities; a code is

``above``     the number of values that are less than x; 0 for NaN;
``unordered`` the same, but ``n`` for NaN;
``member``    the place of x among the values, ``n`` if it is none of them, ``n + 1`` for NaN; padded with NaN.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.sizes import TREE_ROWS
from basalt.compiler.kernels.tree_gather import ELEMENTS, FORMS, SIZES, byte_at, gather, splat

__all__ = ["recipe"]

_NAME = re.compile(rf"treecode_(above|unordered|member)_(f32|f64)_(u8|u16|u32)_{FORMS}")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 3, pointer, *[index] * 3, pointer, index)
    writer = partial(_write, match[1], match[2], match[3], match[4])
    return micro_kernel(name, operands, writer)


def _write(kind: str, x_type: str, code: str, form: str, e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    x, x_at, stride, count, table, table_at, steps, n, codes, codes_at = a
    size, lanes = SIZES[x_type], 64 // SIZES[x_type]
    start = byte_at(b, table, table_at, size)
    rows = _rows(e, x_type, byte_at(b, x, x_at, size), stride, count)

    def step(k: ir.Value, places: list[ir.Value]) -> list[ir.Value]:
        half = b.trunc(b.shl(I64(1), b.sub(b.sub(steps, I64(1)), k)), I32)
        taken, before = splat(b, half, lanes), splat(b, b.sub(half, I32(1)), lanes)
        found = []
        for row, place in zip(rows, places):
            value = gather(e, form, start, b.add(place, before), ELEMENTS[x_type], size)
            compare = b.fcmp_unordered if kind == "unordered" else b.fcmp_ordered
            found.append(b.select(compare(">", row, value), b.add(place, taken), place))
        return found

    zero = e.constant(ir.VectorType(I32, lanes), 0)
    places = counted(b, steps, [zero] * len(rows), step)
    last = splat(b, b.trunc(n, I32), lanes)
    target = byte_at(b, codes, codes_at, SIZES[code])
    for i, (row, place) in enumerate(zip(rows, places)):
        if kind == "member":
            bound = e.call("llvm.umin", [place, splat(b, b.trunc(b.sub(b.shl(I64(1), steps), I64(2)), I32), lanes)])
            value = gather(e, form, start, bound, ELEMENTS[x_type], size)
            place = b.select(b.fcmp_ordered("==", row, value), place, last)
            place = b.select(b.fcmp_unordered("uno", row, row), b.add(last, e.constant(last.type, 1)), place)
        else:
            place = e.call("llvm.umin", [place, last])
        narrow = ir.VectorType(ELEMENTS[code], lanes)
        stored = place if code == "u32" else b.trunc(place, narrow)
        b.store(stored, byte_at(b, target, I64(i * lanes), SIZES[code]), align=1)


def _rows(e: Emitter, x_type: str, first: ir.Value, stride: ir.Value, count: ir.Value) -> list[ir.Value]:
    """All values as vectors; behind the last one, the last one again."""
    b, lanes, size = e.b, 64 // SIZES[x_type], SIZES[x_type]
    last = b.sub(count, I64(1))
    vectors = []
    for top in range(0, TREE_ROWS, lanes):
        vector = ir.Constant(ir.VectorType(ELEMENTS[x_type], lanes), ir.Undefined)
        for lane in range(lanes):
            row = e.call("llvm.smin", [I64(top + lane), last])
            value = b.load(byte_at(b, first, b.mul(row, stride), size), typ=ELEMENTS[x_type], align=size)
            vector = b.insert_element(vector, value, I32(lane))
        vectors.append(vector)
    return vectors
