"""The products of Winograd convolutions: for each point, tiles' values times panels of weights.

``winograd_products_{rows}x{vectors}x{lanes}_f32(sums, index, tile stride, point stride, values, index, tile stride,
point stride, weights, index, point stride, points, panels, tiles, depth, chain)`` computes, counted in elements::

    sums(tile, point, column) = sum over k < depth of values(tile, point, k) * weights(point, column, k)

for ``tiles`` tiles (at least ``rows``) and ``panels`` panels of ``vectors * lanes`` columns, which lie one behind the
other as ``[depth][columns]``. The depth is a multiple of 4. ``chain`` products are summed up in one go, then added to
what there is: short chains round less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I8, I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import POINTER, counted, micro_kernel
from basalt.compiler.kernels.vectors import VectorMemory
from basalt.compiler.kernels.winograd_layout import LINE

__all__ = ["prefetch", "recipe"]

_NAME = re.compile(r"winograd_products_(\d+)x(\d+)x(\d+)_f32")
_FLOAT, _SIZE = "f32", 4
UNROLLED = 4
"""Steps between two tests of a loop's end."""
AHEAD = 256
"""Elements by which weights are fetched before they are multiplied: they come from afar, a panel after another."""


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    rows, vectors, lanes = (int(part) for part in match.groups())
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 3, pointer, *[index] * 3, pointer, *[index] * 7)

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _Products(e, rows, vectors, lanes).write(arguments)

    return micro_kernel(name, operands, write)


def prefetch(e: Emitter, place: ir.Value) -> None:
    """Have a cache line on its way, which may lie outside a buffer."""
    kinds: Sequence[ir.Type] = [POINTER, I32, I32, I32]
    function = e.declare("llvm.prefetch.p0", ir.FunctionType(ir.VoidType(), kinds))
    e.b.call(function, [place, I32(0), I32(3), I32(1)])


class _Products:
    """Emits one micro-kernel."""

    def __init__(self, e: Emitter, rows: int, vectors: int, lanes: int) -> None:
        self.e, self.b = e, e.b
        self.rows, self.vectors = rows, vectors
        self.memory = VectorMemory(e, lanes, _FLOAT)
        self.columns = vectors * lanes

    def write(self, a: Sequence[ir.Value]) -> None:
        b, at = self.b, self.memory.at
        sums, m_index, self.m_tile, m_point, values, v_index, self.v_tile, v_point = a[:8]
        weights, u_index, u_point, points, panels, tiles, self.depth, self.chain = a[8:]
        size = b.mul(self.depth, I64(self.columns))
        # Tiles of the last block that do not fill it are computed with some before them once more.
        last = b.sub(tiles, I64(self.rows))
        blocks = b.sdiv(b.add(tiles, I64(self.rows - 1)), I64(self.rows))

        def each_point(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            m, v, u = carried

            def each_panel(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
                m_panel, u_panel = carried

                def each_block(k: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
                    tile = self.e.call("llvm.smin", [b.mul(k, I64(self.rows)), last])
                    own = at(m_panel, b.mul(tile, self.m_tile), _FLOAT)
                    self._block(own, at(v, b.mul(tile, self.v_tile), _FLOAT), u_panel)
                    return []

                counted(b, blocks, [], each_block)
                return [at(m_panel, I64(self.columns), _FLOAT), at(u_panel, size, _FLOAT)]

            counted(b, panels, [m, u], each_panel)
            return [at(p, step, _FLOAT) for p, step in ((m, m_point), (v, v_point), (u, u_point))]

        start = [at(p, i, _FLOAT) for p, i in ((sums, m_index), (values, v_index), (weights, u_index))]
        counted(b, points, start, each_point)

    def _block(self, m: ir.Value, v: ir.Value, u: ir.Value) -> None:
        """The sums of some tiles for a panel, a chain after another."""
        b, memory = self.b, self.memory
        chains = b.sdiv(b.add(self.depth, b.sub(self.chain, I64(1))), self.chain)

        def each(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            v_now, u_now = carried
            left = b.sub(self.depth, b.mul(k, self.chain))
            *sums, v_now, u_now = self._chain(self.e.call("llvm.smin", [left, self.chain]), v_now, u_now)
            places = [
                memory.at(memory.at(m, b.mul(self.m_tile, I64(r)), _FLOAT), I64(j * memory.lanes), _FLOAT)
                for r in range(self.rows)
                for j in range(self.vectors)
            ]
            with b.if_else(b.icmp_signed("==", k, I64(0))) as (fresh, added):
                with fresh:
                    for place, value in zip(places, sums):
                        b.store(value, place, align=_SIZE)
                with added:
                    for place, value in zip(places, sums):
                        b.store(b.fadd(memory.load(place, _FLOAT), value), place, align=_SIZE)
            return [v_now, u_now]

        counted(b, chains, [v, u], each)

    def _chain(self, depth: ir.Value, v: ir.Value, u: ir.Value) -> list[ir.Value]:
        b, memory = self.b, self.memory
        # Three rows share a base register, which multiples of the stride are added to in their addresses.
        bases = [b.mul(self.v_tile, I64(3 * i * _SIZE)) for i in range(-(-self.rows // 3))]

        def steps(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *sums, v_now, u_now = carried
            places = [self._opaque(b.gep(v_now, [base], source_etype=I8)) for base in bases]
            for i in range(UNROLLED):
                if i:
                    self._fence()
                sums = self._step(sums, [memory.at(p, I64(i), _FLOAT) for p in places], u_now, i)
            ahead = (I64(UNROLLED), I64(UNROLLED * self.columns))
            return [*sums, *(memory.at(p, d, _FLOAT) for p, d in zip((v_now, u_now), ahead))]

        zero = self.e.constant(memory.vector, 0)
        start = [zero] * (self.rows * self.vectors)
        return counted(b, b.ashr(depth, I64(UNROLLED.bit_length() - 1)), [*start, v, u], steps)

    def _step(self, sums: list[ir.Value], bases: list[ir.Value], u: ir.Value, step: int) -> list[ir.Value]:
        b, memory = self.b, self.memory
        first = step * self.columns
        shared = [memory.load(memory.at(u, I64(first + j * memory.lanes), _FLOAT), _FLOAT) for j in range(self.vectors)]
        for line in range(-(-self.columns // LINE)):
            prefetch(self.e, memory.at(u, I64(first + AHEAD + line * LINE), _FLOAT))
        result = []
        for r in range(self.rows):
            place = bases[r // 3]
            if r % 3:
                place = memory.at(place, b.mul(self.v_tile, I64(r % 3)), _FLOAT)
            own = memory.broadcast(place, _FLOAT)
            old = sums[r * self.vectors : (r + 1) * self.vectors]
            result += [memory.multiply_add(own, x, total) for x, total in zip(shared, old)]
        return result

    def _fence(self) -> None:
        """Keep loads where they are: fetched early, they would push sums out of the registers."""
        self.b.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", side_effect=True), [])

    def _opaque(self, pointer: ir.Value) -> ir.Value:
        """An address that LLVM cannot derive from another: it would chain additions through all rows."""
        return self.b.asm(ir.FunctionType(pointer.type, [pointer.type]), "", "=r,0", [pointer], False)
