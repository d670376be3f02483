"""The upper part of a tree, of up to 63 nodes, for 64 rows at once: one comparison of 64 codes a node.

``treecrown_{code}_{form}`` finds the exit of each row: the number, from left to right, of the leaf or lower node that
it comes to. Its operands: ``codes, index`` (of the first row in the first plane), ``limits, links, sizes, index`` (of
the first node), ``nodes`` (their number), ``reach, states``. Rows go left from node k if their code in its plane is at
most ``limits[k]``. ``links[k]`` are the plane's place in units of 64 elements (uint16) and the numbers of both children
among the tree's nodes (uint8; 64 for an exit); parents stand before children. ``sizes[k]`` is the number of exits on
its left, which those that go right have passed.

Which rows reach which node is kept in ``reach`` (``sizes.reach_bytes``): 64 bits a node in the form ``avx512``, 64
bytes in the form ``plain``. After the idea of Lucchese et al., "QuickScorer", SIGIR 2015, but with the tree's structure
kept, so that a row costs one bit for a node and not one word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I1, I8, I16, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.sizes import TREE_ROWS
from basalt.compiler.kernels.tree_gather import ELEMENTS, FORMS, SIZES, byte_at, splat

__all__ = ["recipe"]

_NAME = re.compile(rf"treecrown_(u8|u16|u32)_{FORMS}")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, index, *[pointer] * 3, index, index, pointer, pointer)
    return micro_kernel(name, operands, partial(_write, match[1], match[2]))


def _write(code: str, form: str, e: Emitter, a: Sequence[ir.Value]) -> None:
    b = e.b
    codes, codes_at, limits, links, sizes, first, nodes, reach, states = a
    rows = byte_at(b, codes, codes_at, SIZES[code])
    limits, links, sizes = (byte_at(b, p, first, s) for p, s in ((limits, SIZES[code]), (links, 4), (sizes, 1)))
    state = ir.VectorType(I8, TREE_ROWS)
    kind: ir.Type = I64 if form == "avx512" else state
    step = 8 if form == "avx512" else TREE_ROWS

    def slot(number: ir.Value) -> ir.Value:
        return byte_at(b, reach, b.zext(number, I64) if number.type != I64 else number, step)

    def node(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        link = byte_at(b, links, k, 4)
        plane = b.zext(b.load(link, typ=I16, align=2), I64)
        held = b.load(
            byte_at(b, rows, b.mul(plane, I64(TREE_ROWS)), SIZES[code]),
            typ=ir.VectorType(ELEMENTS[code], TREE_ROWS),
            align=SIZES[code],
        )
        limit = b.load(byte_at(b, limits, k, SIZES[code]), typ=ELEMENTS[code], align=SIZES[code])
        left = _as_mask(b, form, b.icmp_unsigned("<=", held, splat(b, limit, TREE_ROWS)))
        here = b.load(slot(k), typ=kind, align=8)
        goes_left = b.and_(here, left)
        goes_right = b.xor(here, goes_left)
        for child, mask in ((2, goes_left), (3, goes_right)):
            b.store(mask, slot(b.load(byte_at(b, link, I64(child), 1), typ=I8, align=1)), align=8)
        passed = splat(b, b.load(byte_at(b, sizes, k, 1), typ=I8, align=1), TREE_ROWS)
        if form == "avx512":
            chosen = b.bitcast(goes_right, ir.VectorType(I1, TREE_ROWS))
            return [b.select(chosen, b.add(carried[0], passed), carried[0])]
        return [b.add(carried[0], b.and_(goes_right, passed))]

    b.store(e.constant(kind, -1) if form != "avx512" else I64(-1), slot(I64(0)), align=8)
    (found,) = counted(b, nodes, [e.constant(state, 0)], node)
    b.store(found, states, align=1)


def _as_mask(b: ir.IRBuilder, form: str, condition: ir.Value) -> ir.Value:
    return b.bitcast(condition, I64) if form == "avx512" else b.sext(condition, ir.VectorType(I8, TREE_ROWS))
