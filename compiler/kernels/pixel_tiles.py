"""Micro-kernels of convolutions over channels that are neighbours: from products to stores.

``pixels_{rows}x{vectors}x{lanes}_{weights}_{register}_{walk}{program}`` sums up, for ``rows`` pixels and
``vectors * lanes`` output channels, with weights of a memory type that may be narrower::

    sum over k3 < n3, k2 < n2, k1 < n1 of image(pixel, k) * weights(channel, k)

and applies a program (:mod:`.finish`) to the sums. With the walk ``run``, a step of the innermost loop is one element
of the image and one row of a panel of weights; with ``any``, the steps are operands.

The operands, counted in elements: ``block, image, index, pixel stride, weights, index``, then ``n``, the image's stride
and the weights' stride for the inner, middle and outer loop, ``first, last, rows, columns``, then the program's. Sums
start from the scratch memory ``block`` unless ``first``, and are kept there unless ``last``. All pixels of the tile are
read, but only the first ``rows`` and ``columns`` results are stored.

Pixels lie evenly: three of them share a base register, which the stride's multiples are added to in their addresses, so
that fourteen need but five registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I8, I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.finish import PATTERN, Find, Finish, Finisher, parsed
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.vectors import KINDS, VectorMemory, bytes_of

__all__ = ["recipe"]

_NAME = re.compile(rf"pixels_(\d+)x(\d+)x(\d+)_({KINDS})_(f32|f64)_(run|any)({PATTERN})")
LOOPS = 3
UNROLLED = 4
"""Steps of a run between two tests of its end."""


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    from basalt.compiler.kernels.namespace import recipe as find

    match = matched(_NAME, name)
    rows, vectors, lanes, stored, register, walk, program = match.groups()
    finish = parsed(program)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, pointer, index, index, pointer, *[index] * (1 + 3 * LOOPS + 4), *finish.types(register))

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        tile = _Tile(e, (int(rows), int(vectors), int(lanes)), stored, register)
        tile.write(arguments, walk == "run", finish, find)

    return micro_kernel(name, operands, write)


class _Tile:
    """Emits one micro-kernel."""

    def __init__(self, e: Emitter, size: tuple[int, int, int], stored: str, register: str) -> None:
        self.e, self.b = e, e.b
        self.rows, self.vectors, lanes = size
        self.stored, self.register = stored, register
        self.memory = VectorMemory(e, lanes, register)
        self.size = bytes_of(register)

    def write(self, arguments: Sequence[ir.Value], run: bool, finish: Finish, find: Find) -> None:
        b = self.b
        block, image, index, stride, weights, weights_index = arguments[:6]
        loops = arguments[6 : 6 + 3 * LOOPS]
        first, last, rows, columns = arguments[6 + 3 * LOOPS : 10 + 3 * LOOPS]
        self.block, self.run = block, run
        self.pixel = stride
        self.bases = [b.mul(stride, I64(3 * i * self.size)) for i in range(-(-self.rows // 3))]
        self.loops = [tuple(loops[i : i + 3]) for i in range(0, len(loops), 3)]
        zero = self.e.constant(self.memory.vector, 0)
        start = [zero] * (self.rows * self.vectors)
        s, v = self.memory.at(image, index, self.register), self.memory.at(weights, weights_index, self.stored)
        sums = self._continued(self._nest(LOOPS - 1, start, s, v), first)
        finisher = Finisher(finish, self.memory, self.register, self.vectors, arguments[10 + 3 * LOOPS :], find)
        with b.if_else(b.icmp_signed("!=", last, I64(0))) as (done, kept):
            with done:
                self._finished(finisher, sums, rows, columns)
            with kept:
                self._keep(sums)

    def _nest(self, level: int, sums: list[ir.Value], s: ir.Value, v: ir.Value) -> list[ir.Value]:
        if level == 0:
            return self._innermost(sums, s, v)
        count, s_step, v_step = self.loops[level]

        def body(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *inner, s_now, v_now = carried
            inner = self._nest(level - 1, inner, s_now, v_now)
            return [*inner, *self._ahead(s_now, s_step, v_now, v_step)]

        return counted(self.b, count, [*sums, s, v], body)[:-2]

    def _innermost(self, sums: list[ir.Value], s: ir.Value, v: ir.Value) -> list[ir.Value]:
        count, s_step, v_step = self.loops[0]
        width = I64(self.vectors * self.memory.lanes)
        steps = (I64(1), width) if self.run else (s_step, v_step)

        def several(number: int, _: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *now, s_now, v_now = carried
            bases = [self._opaque(self._byte(s_now, base)) for base in self.bases]
            for i in range(number):
                if i:
                    self._fence()
                row = self.memory.at(v_now, I64(i * width.constant), self.stored) if i else v_now
                now = self._step(now, [self._element(p, i) for p in bases], row)
            s_ahead, v_ahead = (self.b.mul(step, I64(number)) for step in steps)
            return [*now, *self._ahead(s_now, s_ahead, v_now, v_ahead)]

        if self.run:
            whole = self.b.ashr(count, I64(UNROLLED.bit_length() - 1))
            *sums, s, v = counted(self.b, whole, [*sums, s, v], partial(several, UNROLLED))
            count = self.b.and_(count, I64(UNROLLED - 1))
        return counted(self.b, count, [*sums, s, v], partial(several, 1))[:-2]

    def _ahead(self, s: ir.Value, s_step: ir.Value, v: ir.Value, v_step: ir.Value) -> list[ir.Value]:
        """The places some elements of the image and of the weights on."""
        return [self.memory.at(s, s_step, self.register), self.memory.at(v, v_step, self.stored)]

    def _step(self, sums: list[ir.Value], bases: list[ir.Value], v: ir.Value) -> list[ir.Value]:
        places = [self.memory.at(v, I64(j * self.memory.lanes), self.stored) if j else v for j in range(self.vectors)]
        shared = [self.memory.load(place, self.stored) for place in places]
        result = []
        for r in range(self.rows):
            place = bases[r // 3]
            if r % 3:
                place = self.memory.at(place, self.b.mul(self.pixel, I64(r % 3)), self.register)
            own = self.memory.broadcast(place, self.register)
            old = sums[r * self.vectors : (r + 1) * self.vectors]
            result += [self.memory.multiply_add(own, x, total) for x, total in zip(shared, old)]
        return result

    def _fence(self) -> None:
        """Keep loads where they are: fetched early, they would push sums out of the registers."""
        self.b.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", side_effect=True), [])

    def _opaque(self, pointer: ir.Value) -> ir.Value:
        """An address that LLVM cannot derive from another: it would chain additions through all rows."""
        return self.b.asm(ir.FunctionType(pointer.type, [pointer.type]), "", "=r,0", [pointer], False)

    def _byte(self, pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return self.b.gep(pointer, [offset], source_etype=I8)

    def _element(self, pointer: ir.Value, number: int) -> ir.Value:
        return self.memory.at(pointer, I64(number), self.register) if number else pointer

    def _place(self, row: int, vector: int) -> ir.Value:
        return self._element(self.block, (row * self.vectors + vector) * self.memory.lanes)

    def _continued(self, sums: list[ir.Value], first: ir.Value) -> list[ir.Value]:
        """The sums with those of earlier parts added."""
        b, before = self.b, self.b.block
        added: list[ir.Value] = []
        with b.if_then(b.icmp_signed("==", first, I64(0))):
            for r in range(self.rows):
                for j in range(self.vectors):
                    old = b.load(self._place(r, j), typ=self.memory.vector, align=64)
                    added.append(b.fadd(old, sums[r * self.vectors + j]))
            after = b.block
        result = []
        for own, other in zip(sums, added):
            phi = b.phi(self.memory.vector)
            phi.add_incoming(own, before)
            phi.add_incoming(other, after)
            result.append(phi)
        return result

    def _keep(self, sums: list[ir.Value]) -> None:
        for r in range(self.rows):
            for j in range(self.vectors):
                self.b.store(sums[r * self.vectors + j], self._place(r, j), align=64)

    def _finished(self, finisher: Finisher, sums: list[ir.Value], rows: ir.Value, columns: ir.Value) -> None:
        b, lanes = self.b, self.memory.lanes
        with b.if_else(b.icmp_signed(">=", columns, I64(self.vectors * lanes))) as (whole, part):
            with whole:
                finisher.rows(None, sums, rows, self.block)
            with part:
                left = b.trunc(columns, I32)
                masks = [self.memory.below(left, j * lanes) for j in range(self.vectors)]
                finisher.rows(masks, sums, rows, self.block)
