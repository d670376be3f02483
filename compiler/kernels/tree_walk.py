"""The lower part of a tree for 64 rows: four vectors of walks side by side, two gathers for a step.

``treewalk_{code}_{words}`` goes on from the exits of a crown (:mod:`basalt.compiler.kernels.tree_crown`) to the leaves.
Its operands: ``codes, index`` (of the first row in the first plane), ``nodes, index`` (of the tree's first node, which
is the crown's first exit), ``states`` (the exits, 64 uint8), ``leaves`` (the result, 64 uint32), ``plane shift, plane
bits, child shift, pitch bits`` (the last: the logarithm of a plane's rows).

A node is one word of 32 bits (``narrow``) or two (``wide``): the sign says that it is a leaf, then comes the number of
its first child (or the leaf's own), behind which the second child stands, then the plane, then the code that those that
go to the first child do not exceed. In a wide one the code is the first word by itself. AVX-512 only.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I8, I16, I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import micro_kernel
from basalt.compiler.kernels.tree_gather import SIZES, byte_at, gather, splat

__all__ = ["recipe"]

_LANES = 16
_VECTORS = 4
_MASKS = {"u8": 0xFF, "u16": 0xFFFF}
_NAME = re.compile("treewalk_(u8|u16|u32)_(narrow|wide)")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, index, pointer, index, pointer, pointer, *[index] * 4)

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _Walk(match[1], match[2] == "wide", e, arguments).write()

    return micro_kernel(name, operands, write)


class _Walk:
    def __init__(self, code: str, wide: bool, e: Emitter, a: Sequence[ir.Value]) -> None:
        self.e, self.b, self.code, self.wide = e, e.b, code, wide
        codes, codes_at, nodes, nodes_at, self.states, self.leaves, *shifts = a
        self.codes = byte_at(self.b, codes, codes_at, SIZES[code])
        self.nodes = byte_at(self.b, nodes, nodes_at, 8 if wide else 4)
        plane_shift, plane_bits, child_shift, pitch_bits = (self.b.trunc(s, I32) for s in shifts)
        one = I32(1)
        ones = self.b.sub(self.b.shl(one, plane_bits), one)
        below = self.b.sub(self.b.shl(one, plane_shift), one)
        self.plane_shift, self.child_shift, self.pitch_bits, self.planes, self.below = (
            splat(self.b, s, _LANES) for s in (plane_shift, child_shift, pitch_bits, ones, below)
        )

    def write(self) -> None:
        b, e = self.b, self.e
        exits = [
            b.load(byte_at(b, self.states, I64(_LANES * v), 1), typ=ir.VectorType(I8, _LANES), align=1)
            for v in range(_VECTORS)
        ]
        start = [self._node(b.zext(exit_, ir.VectorType(I32, _LANES))) for exit_ in exits]
        before = b.block
        head, inside, after = (b.append_basic_block(name) for name in ("head", "inside", "after"))
        b.branch(head)
        b.position_at_end(head)
        nodes = [[b.phi(part.type) for part in node] for node in start]
        all_leaves = functools.reduce(b.and_, [node[0] for node in nodes])
        going = b.bitcast(b.icmp_signed(">=", all_leaves, e.constant(all_leaves.type, 0)), I16)
        b.cbranch(b.icmp_unsigned("!=", going, I16(0)), inside, after)
        b.position_at_end(inside)
        moved = [self._step(v, node) for v, node in enumerate(nodes)]
        for phis, first, new in zip(nodes, start, moved):
            for phi, x, y in zip(phis, first, new):
                phi.add_incoming(x, before)
                phi.add_incoming(y, b.block)
        b.branch(head)
        b.position_at_end(after)
        for v, (word, *_) in enumerate(nodes):
            number = b.lshr(b.and_(word, e.constant(word.type, 0x7FFFFFFF)), self.child_shift)
            b.store(number, byte_at(b, self.leaves, I64(_LANES * v), 4), align=4)

    def _node(self, index: ir.Value, kept: tuple[ir.Value, list[ir.Value]] | None = None) -> list[ir.Value]:
        """Each walk's node: the word with the leaf's sign and, of a wide one, the limit; those not going on stay."""
        words = []
        for part in range(1 + self.wide):
            start = self.b.gep(self.nodes, [I64(4 * (self.wide - part))], source_etype=I8)
            at = self.b.shl(index, self.e.constant(index.type, 1)) if self.wide else index
            words.append(gather(self.e, "avx512", start, at, I32, 4, kept and (kept[0], kept[1][part])))
        return words

    def _step(self, v: int, node: list[ir.Value]) -> list[ir.Value]:
        b, e = self.b, self.e
        word = node[0]
        going = b.icmp_signed(">=", word, e.constant(word.type, 0))
        plane = b.and_(b.lshr(word, self.plane_shift), self.planes)
        rows = ir.Constant(word.type, [_LANES * v + i for i in range(_LANES)])
        value = gather(e, "avx512", self.codes, b.add(b.shl(plane, self.pitch_bits), rows), I32, SIZES[self.code])
        if self.code in _MASKS:
            value = b.and_(value, e.constant(value.type, _MASKS[self.code]))
        limit = node[1] if self.wide else b.and_(word, self.below)
        first = b.lshr(word, self.child_shift)
        is_further = b.icmp_unsigned(">", value, limit)
        child = b.select(is_further, b.add(first, e.constant(first.type, 1)), first)
        return self._node(child, (going, node))
