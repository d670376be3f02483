"""Register-tiled micro-kernels: a block of sums of products, held in vector registers over the whole reduction.

``tile_{form}_{rows}x{vectors}x{lanes}_{s}_{v}_{register}`` computes for ``rows`` rows and ``vectors * lanes`` columns::

    acc[r, j] (+)= sum over k3 < n3, k2 < n2, k1 < n1 of S(r, j, k) * V(j, k)

``S`` is the operand with rows, of memory type ``s``; ``V`` is shared by the rows, of memory type ``v``. The form says
which of them are vectors along the columns and which one element broadcast over them: ``bv`` (matrix products,
convolutions over output channels), ``vv`` (depthwise over channels), ``vb`` (depthwise over width). ``mtile_...`` masks
the loads of vectors: only columns ``low <= j + shift * k2 < high`` are read, the others count as 0. In the form ``eb``
(depthwise over width with a stride of 2, always masked) column ``j`` is element ``2 * j``, of which the masks speak.

Its operands, counted in elements: ``acc, index, pitch, spare, rows, S, index, row stride, V, index``, then ``n``, S's
stride and V's stride for the inner, middle and outer loop, ``fresh`` (whether acc is overwritten or added to), and for
masked ones ``low, high, shift``. ``rows`` may be fewer than the tile has: row ``rows - 1`` is then computed again, into
the row of acc at index ``spare``, which must exist for that reason. Source: Goto and van de Geijn, "Anatomy of
High-Performance Matrix Multiplication", 2008.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.target import SPLIT
from basalt.compiler.kernels.vectors import VectorMemory, bytes_of

__all__ = ["LOOPS", "Tile", "TileWriter", "recipe"]

_NAME = re.compile(r"(m?)tile_(bv|vv|vb|eb)_(\d+)x(\d+)x(\d+)_(f32|f64|f16|bf16)_(f32|f64|f16|bf16)_(f32|f64)")
LOOPS = 3


@dataclass(frozen=True)
class Tile:
    """The parameters in a micro-kernel's name."""

    masked: bool
    form: str
    rows: int
    vectors: int
    lanes: int
    row_type: str
    shared_type: str
    register: str


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    masked, form, rows, vectors, lanes, row_type, shared_type, register = match.groups()
    tile = Tile(bool(masked), form, int(rows), int(vectors), int(lanes), row_type, shared_type, register)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 4, pointer, *[index] * 2, pointer, index, *[index] * (3 * LOOPS), index)

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        TileWriter(tile, e, arguments).write()

    return micro_kernel(name, operands + (index,) * (3 * tile.masked), write)


class TileWriter:
    """Emits the body of one micro-kernel."""

    identity: float = 0
    """What sums start from, and what masked columns count as."""

    def __init__(self, tile: Tile, e: Emitter, arguments: Sequence[ir.Value]) -> None:
        self.tile, self.e, self.b = tile, e, e.b
        self.memory = VectorMemory(e, tile.lanes, tile.register, self.identity)
        self.acc, self.acc_index, self.pitch, self.spare, self.rows = arguments[:5]
        self.s_pointer, self.s_index, self.s_row, self.v_pointer, self.v_index = arguments[5:10]
        loops = arguments[10 : 10 + 3 * LOOPS]
        self.loops = [tuple(loops[i : i + 3]) for i in range(0, len(loops), 3)]
        self.fresh, *mask = arguments[10 + 3 * LOOPS :]
        bounds: Sequence[Any] = mask or (None, None, None)
        self.low, self.high, self.shift = bounds

    def write(self) -> None:
        b, tile = self.b, self.tile
        last = b.sub(self.rows, I64(1))
        self.row_offsets = [
            I64(0) if r == 0 else b.mul(self.e.call("llvm.smin", [I64(r), last]), self.s_row) for r in range(tile.rows)
        ]
        zero = self.e.constant(self.memory.vector, self.identity)
        s = self.memory.at(self.s_pointer, self.s_index, tile.row_type)
        v = self.memory.at(self.v_pointer, self.v_index, tile.shared_type)
        sums = self._nest(LOOPS - 1, [zero] * (tile.rows * tile.vectors), s, v, [])
        self._store(sums)

    def _nest(
        self, level: int, sums: list[ir.Value], s: ir.Value, v: ir.Value, masks: list[ir.Value]
    ) -> list[ir.Value]:
        """The loop of one level with those inside it; returns the sums after it."""
        if level == 0:
            return self._innermost(sums, s, v, masks)
        count, s_step, v_step = self.loops[level]

        def body(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *inner, s_now, v_now = carried
            found = self._masks(k) if self.tile.masked and level == 1 else masks
            inner = self._nest(level - 1, inner, s_now, v_now, found)
            return [*inner, *self._ahead(s_now, v_now, s_step, v_step)]

        return counted(self.b, count, [*sums, s, v], body)[:-2]

    def _innermost(self, sums: list[ir.Value], s: ir.Value, v: ir.Value, masks: list[ir.Value]) -> list[ir.Value]:
        count, s_step, v_step = self.loops[0]
        # Few sums are split into several, added up at last.
        chains = min(4, max(1, SPLIT // len(sums)))

        def steps(number: int) -> Callable[[ir.Value, list[ir.Value]], list[ir.Value]]:
            def body(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
                *now, s_now, v_now = carried
                done: list[ir.Value] = []
                for i in range(number):
                    done += self.step(now[i * len(sums) : (i + 1) * len(sums)], s_now, v_now, masks)
                    s_now, v_now = self._ahead(s_now, v_now, s_step, v_step)
                return [*done, s_now, v_now]

            return body

        if chains > 1:
            zeros = [self.e.constant(self.memory.vector, self.identity)] * (len(sums) * (chains - 1))
            whole = self.b.sdiv(count, I64(chains))
            *split, s, v = counted(self.b, whole, [*sums, *zeros, s, v], steps(chains))
            for i in range(chains, 1, -1):
                first, last = split[(i - 2) * len(sums) : (i - 1) * len(sums)], split[(i - 1) * len(sums) :]
                split = split[: (i - 2) * len(sums)] + [self.join(x, y) for x, y in zip(first, last)]
            sums, count = split, self.b.srem(count, I64(chains))
        return counted(self.b, count, [*sums, s, v], steps(1))[:-2]

    def _ahead(self, s: ir.Value, v: ir.Value, s_step: ir.Value, v_step: ir.Value) -> tuple[ir.Value, ir.Value]:
        return self.memory.at(s, s_step, self.tile.row_type), self.memory.at(v, v_step, self.tile.shared_type)

    def step(self, sums: list[ir.Value], s: ir.Value, v: ir.Value, masks: list[ir.Value]) -> list[ir.Value]:
        """The sums after one step of all loops."""
        tile, columns = self.tile, range(self.tile.vectors)
        shared = self.operand(v, tile.form[1], tile.shared_type, masks)
        result = []
        for r in range(tile.rows):
            place = self.memory.at(s, self.row_offsets[r], tile.row_type)
            own = self.operand(place, tile.form[0], tile.row_type, masks)
            result += [self.memory.multiply_add(own[j], shared[j], sums[r * tile.vectors + j]) for j in columns]
        return result

    def operand(self, place: ir.Value, form: str, kind: str, masks: list[ir.Value]) -> list[ir.Value]:
        """An operand in every vector of a row: read along the columns, or one element broadcast."""
        tile, memory = self.tile, self.memory
        if form == "b":
            return [memory.broadcast(place, kind)] * tile.vectors
        step = 2 * tile.lanes if form == "e" else tile.lanes
        places = [memory.at(place, I64(j * step), kind) for j in range(tile.vectors)]
        if form == "e":
            return [memory.load_even(p, kind, masks[2 * j : 2 * j + 2]) for j, p in enumerate(places)]
        return [memory.load(p, kind, masks[j] if tile.masked else None) for j, p in enumerate(places)]

    def _masks(self, k: ir.Value) -> list[ir.Value]:
        """Which columns are read in step ``k`` of the middle loop."""
        b, lanes = self.b, self.tile.lanes
        moved = b.mul(k, self.shift)
        low, high = (self._clamped(b.sub(bound, moved)) for bound in (self.low, self.high))
        return [self.memory.between(low, high, j * lanes) for j in range(self._width() // lanes)]

    def _width(self) -> int:
        """Elements that a row of vectors spans."""
        return self.tile.vectors * self.tile.lanes * (2 if "e" in self.tile.form else 1)

    def _clamped(self, bound: ir.Value) -> ir.Value:
        inside = self.e.call("llvm.smin", [self.e.call("llvm.smax", [bound, I64(0)]), I64(self._width())])
        return self.b.trunc(inside, I32)

    def _store(self, sums: list[ir.Value]) -> None:
        b, tile = self.b, self.tile
        places = []
        for r in range(tile.rows):
            start = b.add(self.acc_index, b.mul(I64(r), self.pitch))
            if r > 0:
                start = b.select(b.icmp_signed("<", I64(r), self.rows), start, self.spare)
            for j in range(tile.vectors):
                places.append(self.memory.at(self.acc, b.add(start, I64(j * tile.lanes)), tile.register))
        align = bytes_of(tile.register)
        with b.if_else(b.icmp_signed("!=", self.fresh, I64(0))) as (fresh, added):
            with fresh:
                for place, value in zip(places, sums):
                    b.store(value, place, align=align)
            with added:
                for place, value in zip(places, sums):
                    old = b.load(place, typ=self.memory.vector, align=align)
                    b.store(self.join(old, value), place, align=align)

    def join(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Two partial sums as one."""
        return self.b.fadd(x, y)
