"""Micro-kernels of windows over channels that are neighbours, one by one: depthwise convolutions and pools.

``channels_{operation}_{pixels}x{vectors}x{lanes}_{register}_{taps}s{stride}{program}`` computes ``pixels`` neighbours
of a row, for one panel of ``vectors * lanes`` channels after another: over ``lines`` rows of the window, each of
``taps`` columns, sums of ``products`` with weights, the ``sum``, the sum of ``squares``, or the ``max``. A program
(:mod:`.finish`) is applied to them. Each element of the image is loaded once for all results that it takes part in.

``products4`` sums up products of groups of four channels, each result with weights for all of its group's; a vector
holds several groups, and each of their elements is brought to all places of its group in turn.

The operands, counted in elements: ``image, index, line stride, pixel stride, weights, index, panel stride, lines,
low, high, rows, columns, panels, block``, then the program's. Of the image's row, only pixels ``low <= i < high`` are
read, the others take no part; only the first ``rows`` results and ``columns`` channels are stored. ``block`` is scratch
memory for the results of a panel and one more vector. Weights lie as [panels][lines][channels of a group][taps][columns
of a panel]; only products read them.

A maximum is NaN where an element is, which the processor's own instruction does not give. Tiles are computed by it all
the same, while elements are tested two at a time; those with a NaN are computed again with care.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe, matched
from basalt.compiler.kernels.finish import PATTERN, Find, Finish, Finisher, parsed
from basalt.compiler.kernels.loops import counted, micro_kernel
from basalt.compiler.kernels.vectors import VectorMemory, bytes_of

__all__ = ["recipe"]

_NAME = re.compile(rf"channels_(products|sum|squares|max)(2|4|8|)_(\d+)x(\d+)x(\d+)_(f32|f64)_(\d+)s(\d+)({PATTERN})")
_OPERANDS = 14


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    from basalt.compiler.kernels.namespace import recipe as find

    match = matched(_NAME, name)
    operation, group, pixels, vectors, lanes, register, taps, stride, program = match.groups()
    finish = parsed(program)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 3, pointer, *[index] * 8, pointer, *finish.types(register))

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        tile = _TILES[operation](e, (int(pixels), int(vectors), int(lanes)), register, (int(taps), int(stride)))
        tile.group = int(group or 1)
        tile.write(arguments, finish, find)

    return micro_kernel(name, operands, write)


Place = Callable[[int, ir.Value], ir.Value]
"""Where a pixel of a given number is read, given the place where it would be if it is inside the image."""


class _Tile:
    """Emits one micro-kernel."""

    identity = 0.0
    """What stands for pixels outside the image."""
    group = 1
    """Channels of a group."""

    def __init__(self, e: Emitter, size: tuple[int, int, int], register: str, window: tuple[int, int]) -> None:
        self.e, self.b, self.register = e, e.b, register
        self.pixels, self.vectors, lanes = size
        self.taps, self.stride = window
        self.memory = VectorMemory(e, lanes, register, self.identity)
        self.width = self.vectors * lanes
        self.span = (self.pixels - 1) * self.stride + self.taps
        self.start = self.e.constant(self.memory.vector, self.identity)

    def write(self, arguments: Sequence[ir.Value], finish: Finish, find: Find) -> None:
        b = self.b
        image, index, self.line, pixel, weights, weights_index, panel = arguments[:7]
        self.lines, low, high, self.rows, columns, panels, self.block = arguments[7:_OPERANDS]
        self.pixel = b.mul(pixel, I64(bytes_of(self.register)))
        finisher = Finisher(finish, self.memory, self.register, self.vectors, arguments[_OPERANDS:], find)
        inside = b.and_(b.icmp_signed("<=", low, I64(0)), b.icmp_signed(">=", high, I64(self.span)))
        inside = b.and_(inside, b.icmp_signed(">=", self.rows, I64(self.pixels)))
        outside = self._element(self.block, self.pixels * self.width)
        b.store(self.start, outside, align=64)
        met = [b.and_(b.icmp_signed("<=", low, I64(i)), b.icmp_signed("<", I64(i), high)) for i in range(self.span)]

        def as_it_is(_: int, place: ir.Value) -> ir.Value:
            return place

        def if_met(i: int, place: ir.Value) -> ir.Value:
            return b.select(met[i], place, outside)

        def each(q: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            s, v = carried
            offset = b.mul(q, I64(self.width))
            left = b.sub(columns, offset)
            finisher.move(offset)
            with b.if_else(b.icmp_signed(">=", left, I64(self.width)), likely=True) as (whole, part):
                with whole, b.if_else(inside, likely=True) as (plain, at_edge):
                    with plain:
                        finisher.rows(None, self._results(s, v, None, as_it_is), I64(self.pixels), self.block)
                    with at_edge:
                        finisher.rows(None, self._results(s, v, None, if_met), self.rows, self.block)
                with part:
                    there = [self.memory.below(b.trunc(left, I32), j * self.memory.lanes) for j in range(self.vectors)]
                    finisher.rows(there, self._results(s, v, there, if_met), self.rows, self.block)
            return [self.memory.at(s, I64(self.width), self.register), self.memory.at(v, panel, self.register)]

        s, v = (self.memory.at(p, i, self.register) for p, i in ((image, index), (weights, weights_index)))
        counted(b, panels, [s, v], each)

    def _results(self, s: ir.Value, v: ir.Value, there: list[ir.Value] | None, place: Place) -> list[ir.Value]:
        """The results of a panel; ``there`` says which channels exist."""
        start = [self.start] * (self.pixels * self.vectors)
        return self._over_lines(start, s, v, there, place, self.take)[: len(start)]

    def _over_lines(
        self,
        start: list[ir.Value],
        s: ir.Value,
        v: ir.Value,
        there: list[ir.Value] | None,
        place: Place,
        take: Callable[[list[ir.Value], int, ir.Value, ir.Value | None], None],
    ) -> list[ir.Value]:
        """Partial results after the lines of the window; ``take`` adds an element to the one of some number."""
        memory = self.memory

        def line(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *partial, s_now, v_now = carried
            for channel in range(self.group):
                shared = self.weights(self._element(v_now, channel * self.taps * self.width))
                pixel = self._apart(s_now) if channel else s_now
                for i in range(self.span):
                    if i:
                        pixel = self._next(pixel)
                    for j in range(self.vectors):
                        at = place(i, self._element(pixel, j * memory.lanes))
                        own = memory.load(at, self.register, None if there is None else there[j])
                        own = self._spread(own, channel)
                        self.note(partial, own, i == self.span - 1 and j == self.vectors - 1)
                        for o in range(self.pixels):
                            tap = i - o * self.stride
                            if 0 <= tap < self.taps:
                                weight = shared[tap * self.vectors + j] if shared else None
                                take(partial, o * self.vectors + j, own, weight)
            ahead = self._element(v_now, self.group * self.taps * self.width)
            return [*partial, memory.at(s_now, self.line, self.register), ahead]

        return counted(self.b, self.lines, [*start, s, v], line)[:-2]

    def weights(self, place: ir.Value) -> list[ir.Value]:
        """The weights of a line of the window."""
        return []

    def note(self, partial: list[ir.Value], own: ir.Value, last: bool) -> None:
        """Take notice of an element, once for all results that it takes part in; ``last`` of a line's."""

    def take(self, partial: list[ir.Value], number: int, own: ir.Value, weight: ir.Value | None) -> None:
        raise NotImplementedError

    def _spread(self, own: ir.Value, channel: int) -> ir.Value:
        """A channel of each group in all places of the group."""
        if self.group == 1:
            return own
        places = [lane - lane % self.group + channel for lane in range(self.memory.lanes)]
        return self.b.shuffle_vector(own, own, ir.Constant(ir.VectorType(I32, self.memory.lanes), places))

    def _next(self, pixel: ir.Value) -> ir.Value:
        """The next pixel, in a way that keeps LLVM from holding a register for each."""
        ahead = self.b.gep(pixel, [self.pixel], source_etype=ir.IntType(8))
        return self.b.asm(ir.FunctionType(ahead.type, [ahead.type]), "", "=r,0", [ahead], False)

    def _apart(self, pixel: ir.Value) -> ir.Value:
        """The same place, read again: what is read of it must not stay in registers, nor be read early."""
        kind = ir.FunctionType(pixel.type, [pixel.type])
        return self.b.asm(kind, "", "=r,0,~{memory}", [pixel], True)

    def _element(self, pointer: ir.Value, number: int) -> ir.Value:
        return self.memory.at(pointer, I64(number), self.register) if number else pointer


class _Products(_Tile):
    def weights(self, place: ir.Value) -> list[ir.Value]:
        places = [self._element(place, i * self.memory.lanes) for i in range(self.taps * self.vectors)]
        return [self.memory.load(p, self.register) for p in places]

    def take(self, partial: list[ir.Value], number: int, own: ir.Value, weight: ir.Value | None) -> None:
        partial[number] = self.memory.multiply_add(own, weight, partial[number])


class _Sum(_Tile):
    def take(self, partial: list[ir.Value], number: int, own: ir.Value, weight: ir.Value | None) -> None:
        partial[number] = self.b.fadd(own, partial[number])


class _Squares(_Tile):
    def take(self, partial: list[ir.Value], number: int, own: ir.Value, weight: ir.Value | None) -> None:
        partial[number] = self.memory.multiply_add(own, own, partial[number])


class _Max(_Tile):
    identity = -math.inf

    def _results(self, s: ir.Value, v: ir.Value, there: list[ir.Value] | None, place: Place) -> list[ir.Value]:
        b, count = self.b, self.pixels * self.vectors
        start = [self.start] * count
        nans = ir.VectorType(ir.IntType(8 * bytes_of(self.register)), self.memory.lanes)
        quick = self._over_lines([*start, ir.Constant(nans, None)], s, v, there, place, self.take)
        before, bits = b.block, ir.IntType(self.memory.lanes)
        odd = b.icmp_unsigned("!=", b.bitcast(b.icmp_signed("<", quick[count], ir.Constant(nans, None)), bits), bits(0))
        with b.if_then(odd, likely=False):
            careful = self._over_lines(start, s, v, there, place, self._take_carefully)
            after = b.block
        found = []
        for usual, rare in zip(quick, careful):
            phi = b.phi(self.memory.vector)
            phi.add_incoming(usual, before)
            phi.add_incoming(rare, after)
            found.append(phi)
        return found

    waiting: ir.Value | None = None

    def note(self, partial: list[ir.Value], own: ir.Value, last: bool) -> None:
        if len(partial) == self.pixels * self.vectors:
            return
        if self.waiting is None and not last:
            self.waiting = own
            return
        odd = self.b.fcmp_unordered("uno", own if self.waiting is None else self.waiting, own)
        found = self.b.or_(partial[-1], self.b.sext(odd, partial[-1].type))
        if str(self.b.module.triple).startswith(("x86", "i686", "amd64")):
            # LLVM would keep all tests of a line, to join them in another order.
            found = self.b.asm(ir.FunctionType(found.type, [found.type]), "", "=v,0", [found], False)
        partial[-1] = found
        self.waiting = None

    def take(self, partial: list[ir.Value], number: int, own: ir.Value, weight: ir.Value | None) -> None:
        old = partial[number]
        # As the processor's maximum: the second operand if they are equal or one of them is NaN.
        partial[number] = self.b.select(self.b.fcmp_ordered(">", old, own), old, own)

    def _take_carefully(self, partial: list[ir.Value], number: int, own: ir.Value, weight: ir.Value | None) -> None:
        old = partial[number]
        self.take(partial, number, own, weight)
        # The same but where the earlier element is NaN: zeros keep their signs whatever lies beside them.
        partial[number] = self.b.select(self.b.fcmp_unordered("uno", old, old), old, partial[number])


_TILES: dict[str, type[_Tile]] = {"products": _Products, "sum": _Sum, "squares": _Squares, "max": _Max}
