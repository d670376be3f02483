"""Micro-kernels of depthwise convolutions over channels that are neighbours: from products to stores.

``channels_{pixels}x{vectors}x{lanes}_{register}_{taps}s{stride}{program}`` computes ``pixels`` neighbours of
a row, for one panel of ``vectors * lanes`` channels after another: sums over ``lines`` rows of the window, each of
``taps`` columns, to which a program (:mod:`.finish`) is applied. Each element of the image is loaded once for all
results that it takes part in.

The operands, counted in elements: ``image, index, line stride, pixel stride, weights, index, panel stride, lines,
low, high, rows, columns, panels, block``, then the program's. Of the image's row, only pixels ``low <= i < high`` are
read, the others count as 0; only the first ``rows`` results and ``columns`` channels are stored. ``block`` is scratch
memory for a panel's sums. Weights lie as [panels][lines][taps][columns of a panel].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from llvmlite import ir
from numba.core import types

from basalt.compiler.kernels.emit import I32, I64, Emitter, Recipe
from basalt.compiler.kernels.finish import PATTERN, Find, Finish, Finisher, parsed
from basalt.compiler.kernels.loops import counted, internal_function
from basalt.compiler.kernels.vectors import VectorMemory

__all__ = ["recipe"]

_NAME = re.compile(rf"channels_(\d+)x(\d+)x(\d+)_(f32|f64)_(\d+)s(\d+)({PATTERN})")
_OPERANDS = 14


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    from basalt.compiler.kernels.namespace import recipe as find

    match = _NAME.fullmatch(name)
    if match is None:
        raise KeyError(name)
    pixels, vectors, lanes, register, taps, stride, program = match.groups()
    finish = parsed(program)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 3, pointer, *[index] * 8, pointer, *finish.types(register))

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        tile = _Tile(e, (int(pixels), int(vectors), int(lanes)), register, (int(taps), int(stride)))
        tile.write(arguments, finish, find)

    return Recipe(types.void, operands, partial(internal_function, name, write))


class _Tile:
    """Emits one micro-kernel."""

    def __init__(self, e: Emitter, size: tuple[int, int, int], register: str, window: tuple[int, int]) -> None:
        self.e, self.b, self.register = e, e.b, register
        self.pixels, self.vectors, lanes = size
        self.taps, self.stride = window
        self.memory = VectorMemory(e, lanes, register)
        self.width = self.vectors * lanes
        self.span = (self.pixels - 1) * self.stride + self.taps

    def write(self, arguments: Sequence[ir.Value], finish: Finish, find: Find) -> None:
        b = self.b
        image, index, self.line, self.pixel, weights, weights_index, panel = arguments[:7]
        self.lines, low, high, self.rows, columns, panels, self.block = arguments[7:_OPERANDS]
        finisher = Finisher(finish, self.memory, self.register, self.vectors, arguments[_OPERANDS:], find)
        inside = b.and_(b.icmp_signed("<=", low, I64(0)), b.icmp_signed(">=", high, I64(self.span)))

        def each(q: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            s, v = carried
            offset = b.mul(q, I64(self.width))
            left = b.sub(columns, offset)
            finisher.move(offset)
            whole = b.and_(inside, b.icmp_signed(">=", left, I64(self.width)))
            with b.if_else(whole) as (plain, masked):
                with plain:
                    finisher.rows(None, self._sums(s, v, None, None), self.rows, self.block)
                with masked:
                    there = [self.memory.below(b.trunc(left, I32), j * self.memory.lanes) for j in range(self.vectors)]
                    met = [
                        b.and_(b.icmp_signed("<=", low, I64(i)), b.icmp_signed("<", I64(i), high))
                        for i in range(self.span)
                    ]
                    finisher.rows(there, self._sums(s, v, there, met), self.rows, self.block)
            return [self.memory.at(s, I64(self.width), self.register), self.memory.at(v, panel, self.register)]

        s, v = (self.memory.at(p, i, self.register) for p, i in ((image, index), (weights, weights_index)))
        counted(b, panels, [s, v], each)

    def _sums(
        self, s: ir.Value, v: ir.Value, there: list[ir.Value] | None, met: list[ir.Value] | None
    ) -> list[ir.Value]:
        """The sums of a panel; ``there`` says which channels exist, ``met`` which pixels."""
        b, memory, vectors = self.b, self.memory, range(self.vectors)
        zero = self.e.constant(memory.vector, 0)

        def line(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            *sums, s_now, v_now = carried
            weights = [self._element(v_now, i * memory.lanes) for i in range(self.taps * self.vectors)]
            shared = [memory.load(place, self.register) for place in weights]
            for i in range(self.span):
                pixel = memory.at(s_now, b.mul(self.pixel, I64(i)), self.register)
                for j in vectors:
                    mask = None
                    if there is not None and met is not None:
                        mask = b.and_(there[j], memory.splat(met[i]))
                    own = memory.load(self._element(pixel, j * memory.lanes), self.register, mask)
                    for o in range(self.pixels):
                        tap, at = i - o * self.stride, o * self.vectors + j
                        if 0 <= tap < self.taps:
                            sums[at] = memory.multiply_add(own, shared[tap * self.vectors + j], sums[at])
            ahead = self._element(v_now, self.taps * self.width)
            return [*sums, memory.at(s_now, self.line, self.register), ahead]

        return counted(b, self.lines, [*[zero] * (self.pixels * self.vectors), s, v], line)[:-2]

    def _element(self, pointer: ir.Value, number: int) -> ir.Value:
        return self.memory.at(pointer, I64(number), self.register) if number else pointer
