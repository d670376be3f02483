"""Micro-kernels of convolutions over pixels whose windows are listed: from products to stores, for many tiles.

``windows_{rows}x{vectors}x{lanes}_{weights}_{register}_{walk}{unrolled}{program}`` sums up, for ``rows`` pixels of each
of some tiles and ``vectors * lanes`` output channels, with weights of a memory type that may be narrower::

    sum over tap < taps, k < run of image(pixel, tap)[offset + k] * weights(tap, k, channel)

and applies a program (:mod:`.finish`) to the sums. The walk says where a pixel's taps begin: ``listed`` ones at
addresses that memory holds as [tiles][list][rows] (pixels lie anywhere, also in different rows of the image, and what
is beyond its edge may be a row of zeros elsewhere), ``even`` ones a stride apart. Then comes how many steps of a run
there are between two tests of its end; and, as ``s{phases}``, that these steps meet lines of an image that lie as
``unfold_..._line{phases}`` writes them, where weights would: each step one element further on. A run is whole lines.

The operands, counted in elements: ``block, places, first, step, taps, offset, run, weights, index, ahead, tiles, begin,
last, rows, columns``, then the program's. ``places`` is the list with ``first`` the number of its first entry and
``step`` the entries of a tile; or the image with the index of its first pixel and the pixels' stride. Weights lie as
[taps][run][columns of a panel]; while the first tiles are computed, those from ``ahead`` on are fetched into a cache.
Sums start from the scratch memory ``block`` (of all tiles) unless ``begin``, and are kept there unless ``last``. Only
the first ``rows`` results of all tiles, and ``columns`` of each, are stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.finish import PATTERN, Find, Finish, Finisher, parsed
from basalt.compiler.kernels.loops import POINTER, counted, micro_kernel
from basalt.compiler.kernels.sizes import phase_length
from basalt.compiler.kernels.vectors import KINDS, VectorMemory, bytes_of

__all__ = ["recipe"]

_NAME = re.compile(rf"windows_(\d+)x(\d+)x(\d+)_({KINDS})_(f32|f64)_(listed|even)(\d)(?:s(\d))?({PATTERN})")
_OPERANDS = 15
_LINE = 64


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    from basalt.compiler.kernels.namespace import recipe as find

    match = matched(_NAME, name)
    rows, vectors, lanes, stored, register, walk, unrolled, phases, program = match.groups()
    finish = parsed(program)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, pointer, *[index] * 5, pointer, *[index] * 7, *finish.types(register))

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        size, kinds = (int(rows), int(vectors), int(lanes)), (stored, register)
        tiles = _Tiles(e, size, kinds, walk == "even", (int(unrolled), int(phases or 0)))
        tiles.write(arguments, finish, find)

    return micro_kernel(name, operands, write)


class _Tiles:
    """Emits one micro-kernel."""

    def __init__(
        self, e: Emitter, size: tuple[int, int, int], kinds: tuple[str, str], even: bool, steps: tuple[int, int]
    ) -> None:
        self.e, self.b, self.even = e, e.b, even
        self.stored, self.register = kinds
        self.rows, self.vectors, lanes = size
        self.unrolled, self.phases = steps
        self.memory = VectorMemory(e, lanes, self.register)
        self.width = self.vectors * lanes
        self.size = bytes_of(self.stored)

    def write(self, arguments: Sequence[ir.Value], finish: Finish, find: Find) -> None:
        b = self.b
        block, self.places, place, self.step, self.taps, self.offset, self.run = arguments[:7]
        weights, index, ahead, tiles, self.begin, self.last, rows, self.columns = arguments[7:_OPERANDS]
        finisher = Finisher(finish, self.memory, self.register, self.vectors, arguments[_OPERANDS:], find)
        self.weights = self.memory.at(weights, index, self.stored)

        def tile(t: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            block_now, place_now, fetched = carried
            done = b.mul(t, I64(self.rows))
            left = b.sub(rows, done)
            left = b.select(b.icmp_signed("<", left, I64(self.rows)), left, I64(self.rows))
            # One line of weights is fetched between two tests, so as many tiles fetch all of the next ones.
            line = I64(min(_LINE, self.width * self.size))
            fetch = b.select(b.icmp_signed("<", t, I64(self.unrolled)), line, I64(0))
            sums, fetched = self._sums(self._first_places(place_now, left), fetched, fetch)
            self._end(finisher, self._continued(sums, block_now), (done, left), block_now)
            ahead_of = b.mul(self.step, I64(self.rows)) if self.even else self.step
            block_next = self._element(block_now, self.rows * self.width)
            return [block_next, b.add(place_now, ahead_of), fetched]

        counted(b, tiles, [block, place, self.memory.at(weights, ahead, self.stored)], tile)

    def _first_places(self, place: ir.Value, left: ir.Value) -> list[ir.Value] | ir.Value:
        """Where the pixels of a tile begin, or the list's part for it."""
        b = self.b
        if not self.even:
            return b.gep(self.places, [place], source_etype=I64)
        found = []
        for r in range(self.rows):
            # Pixels that do not exist are read where the last one is.
            row = b.select(b.icmp_signed("<", I64(r), left), I64(r), b.sub(left, I64(1)))
            found.append(b.add(place, b.mul(row, self.step)))
        return [self.memory.at(self.places, b.add(i, self.offset), self.register) for i in found]

    def _sums(
        self, places: list[ir.Value] | ir.Value, fetched: ir.Value, fetch: ir.Value
    ) -> tuple[list[ir.Value], ir.Value]:
        b = self.b
        start = [self.e.constant(self.memory.vector, 0)] * (self.rows * self.vectors)
        if isinstance(places, list):
            *sums, _, fetched = self._run(places, start, self.weights, fetched, fetch)
            return sums, fetched

        def tap(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *sums, weights, fetched, entry = carried
            entries = [b.gep(entry, [I64(r)], source_etype=I64) for r in range(self.rows)]
            addresses = [b.inttoptr(b.load(p, typ=I64, align=8), POINTER) for p in entries]
            pixels = [self.memory.at(p, self.offset, self.register) for p in addresses]
            after = b.gep(entry, [I64(self.rows)], source_etype=I64)
            return [*self._run(pixels, sums, weights, fetched, fetch), after]

        *sums, _, fetched, _ = counted(b, self.taps, [*start, self.weights, fetched, places], tap)
        return sums, fetched

    def _run(
        self, pixels: list[ir.Value], sums: list[ir.Value], weights: ir.Value, fetched: ir.Value, fetch: ir.Value
    ) -> list[ir.Value]:
        """The sums with one run added, and the places after its weights and what was fetched."""
        b = self.b

        def several(number: int, _: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *now, step, weights, fetched = carried
            step = self._opaque(step)
            places = [self.memory.at(p, step, self.register) for p in pixels]
            for i in range(number):
                self._fence()
                now = self._step(now, [self._element(p, i) for p in places], self._along(weights, i))
            if number > 1:
                self._fetch(fetched)
                fetched = b.gep(fetched, [fetch], source_etype=ir.IntType(8))
            return [*now, b.add(step, I64(number)), self._after(weights, number), fetched]

        whole = b.udiv(self.run, I64(self.unrolled))
        carried = counted(b, whole, [*sums, I64(0), weights, fetched], partial(several, self.unrolled))
        if self.phases:
            *sums, _, weights, fetched = carried
            return [*sums, weights, fetched]
        rest = b.urem(self.run, I64(self.unrolled))
        *sums, _, weights, fetched = counted(b, rest, carried, partial(several, 1))
        return [*sums, weights, fetched]

    def _step(self, sums: list[ir.Value], pixels: list[ir.Value], weights: ir.Value) -> list[ir.Value]:
        places = [self.memory.at(weights, I64(j * self.memory.lanes), self.stored) for j in range(self.vectors)]
        shared = [self.memory.load(place, self.stored) for place in places]
        result = []
        for r, pixel in enumerate(pixels):
            own = self.memory.broadcast(pixel, self.register)
            old = sums[r * self.vectors : (r + 1) * self.vectors]
            result += [self.memory.multiply_add(own, x, total) for x, total in zip(shared, old)]
        return result

    def _fetch(self, place: ir.Value) -> None:
        """Have memory brought to the second-level cache."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
        self.b.call(self.e.declare("llvm.prefetch.p0", kind), [place, I32(0), I32(2), I32(1)])

    def _fence(self) -> None:
        """Keep loads where they are: fetched early, they would push sums out of the registers."""
        self.b.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", side_effect=True), [])

    def _opaque(self, number: ir.Value) -> ir.Value:
        """An index that LLVM cannot see through: it would count up an address for each pixel instead."""
        return self.b.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [number], False)

    def _row(self, weights: ir.Value, number: int) -> ir.Value:
        """The weights some steps on."""
        return self.memory.at(weights, I64(number * self.width), self.stored) if number else weights

    def _along(self, weights: ir.Value, number: int) -> ir.Value:
        """The weights some steps on in what is unrolled."""
        if not self.phases:
            return self._row(weights, number)
        step, phase = divmod(number, self.phases)
        return self.memory.at(weights, I64(phase * self._phase() + step), self.stored)

    def _after(self, weights: ir.Value, number: int) -> ir.Value:
        """The weights after what is unrolled."""
        if not self.phases:
            return self._row(weights, number)
        return self.memory.at(weights, I64(self.phases * self._phase()), self.stored)

    def _phase(self) -> int:
        return phase_length(self.width, self.memory.lanes, self.unrolled, self.phases)

    def _element(self, pointer: ir.Value, number: int) -> ir.Value:
        return self.memory.at(pointer, I64(number), self.register) if number else pointer

    def _kept(self, block: ir.Value) -> list[ir.Value]:
        return [self._element(block, i * self.memory.lanes) for i in range(self.rows * self.vectors)]

    def _continued(self, sums: list[ir.Value], block: ir.Value) -> list[ir.Value]:
        """The sums with those of earlier parts added."""
        b, before = self.b, self.b.block
        with b.if_then(b.icmp_signed("==", self.begin, I64(0))):
            kept = [b.load(place, typ=self.memory.vector, align=32) for place in self._kept(block)]
            added = [b.fadd(old, own) for old, own in zip(kept, sums)]
            after = b.block
        result = []
        for own, other in zip(sums, added):
            phi = b.phi(self.memory.vector)
            phi.add_incoming(own, before)
            phi.add_incoming(other, after)
            result.append(phi)
        return result

    def _end(self, finisher: Finisher, sums: list[ir.Value], rows: tuple[ir.Value, ir.Value], block: ir.Value) -> None:
        """Finish and store sums of a tile of some rows, given how many are before it and left, or keep them."""
        b, lanes = self.b, self.memory.lanes
        done, left = rows
        with b.if_else(b.icmp_signed("!=", self.last, I64(0))) as (finished, kept):
            with finished:
                finisher.move_down(done)
                with b.if_else(b.icmp_signed(">=", self.columns, I64(self.width))) as (whole, part):
                    with whole:
                        finisher.rows(None, sums, left, block)
                    with part:
                        count = b.trunc(self.columns, I32)
                        masks = [self.memory.below(count, j * lanes) for j in range(self.vectors)]
                        finisher.rows(masks, sums, left, block)
            with kept:
                for value, place in zip(sums, self._kept(block)):
                    b.store(value, place, align=32)
