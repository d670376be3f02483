"""Adding the weights of 64 rows' leaves to their totals.

``treesum_{total}_{width}_{leaf}_{form}``: ``totals[r * width + c] += weights[leaf[r] * width + c]`` for 64 rows r and
``c < width``. Its operands: ``totals, index, weights, index, leaves``; the leaves are 64 uint8 or uint32. Widths are 1,
2, 4 and multiples of 8 up to :data:`basalt.compiler.kernels.sizes.WIDEST_LEAF`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.sizes import TREE_ROWS, WIDEST_LEAF, leaf_width
from basalt.compiler.kernels.tree_gather import ELEMENTS, FORMS, SIZES, byte_at, gather

__all__ = ["recipe"]

_UNROLLED = 4
_NAME = re.compile(rf"treesum_(f32|f64)_(\d+)_(u8|u32)_{FORMS}")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = _NAME.fullmatch(name)
    if match is None or not 0 < int(match[2]) <= WIDEST_LEAF or leaf_width(int(match[2])) != int(match[2]):
        raise KeyError(name)
    total, width, leaf, form = match.groups()
    index, pointer = types.intp, types.voidptr
    write = partial(_single, total, leaf, form) if width == "1" else partial(_rows, total, int(width), leaf)
    return micro_kernel(name, (pointer, index, pointer, index, pointer), write)


def _single(total: str, leaf: str, form: str, e: Emitter, a: Sequence[ir.Value]) -> None:
    """One weight a leaf: vectors of rows."""
    b, size, lanes = e.b, SIZES[total], 64 // SIZES[total]
    totals, totals_at, weights, weights_at, leaves = a
    place, start = byte_at(b, totals, totals_at, size), byte_at(b, weights, weights_at, size)
    vector = ir.VectorType(ELEMENTS[total], lanes)
    for top in range(0, TREE_ROWS, lanes):
        found = b.load(byte_at(b, leaves, I64(top), SIZES[leaf]), typ=ir.VectorType(ELEMENTS[leaf], lanes), align=1)
        number = found if leaf == "u32" else b.zext(found, ir.VectorType(I32, lanes))
        weight = gather(e, form, start, number, ELEMENTS[total], size)
        held = byte_at(b, place, I64(top), size)
        b.store(b.fadd(b.load(held, typ=vector, align=size), weight), held, align=size)


def _rows(total: str, width: int, leaf: str, e: Emitter, a: Sequence[ir.Value]) -> None:
    """Several weights a leaf: vectors of weights, row by row."""
    b, size = e.b, SIZES[total]
    totals, totals_at, weights, weights_at, leaves = a
    place, start = byte_at(b, totals, totals_at, size), byte_at(b, weights, weights_at, size)
    step = min(width, 8)
    vector = ir.VectorType(ELEMENTS[total], step)

    def body(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        for i in range(_UNROLLED):
            row = b.add(b.mul(k, I64(_UNROLLED)), I64(i))
            number = b.load(byte_at(b, leaves, row, SIZES[leaf]), typ=ELEMENTS[leaf], align=1)
            source = byte_at(b, start, b.mul(b.zext(number, I64), I64(width)), size)
            target = byte_at(b, place, b.mul(row, I64(width)), size)
            for c in range(0, width, step):
                held = byte_at(b, target, I64(c), size)
                weight = b.load(byte_at(b, source, I64(c), size), typ=vector, align=size)
                b.store(b.fadd(b.load(held, typ=vector, align=size), weight), held, align=size)
        return carried

    counted(b, I64(TREE_ROWS // _UNROLLED), [], body)
