"""Micro-kernels of pooling: blocks of maxima or sums over windows, held in vector registers.

``fold_{operation}_{form}_{rows}x{vectors}x{lanes}_{s}_{register}`` combines elements of one operand, and is otherwise
what masked tiles are (:mod:`.tiles`). The operation is ``max``, ``sum`` or ``squares`` (a sum of squares), the form
``v`` (columns are neighbours in memory) or ``e`` (every second element).

Its operands, counted in elements: ``acc, index, pitch, spare, rows, S, index, row stride``, then ``n`` and S's stride
for the inner, middle and outer loop, ``fresh``, ``low, high, shift``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I64, REGISTERS, Emitter, Recipe, matched
from basalt.compiler.kernels.loops import micro_kernel
from basalt.compiler.kernels.tiles import LOOPS, Tile, TileWriter

__all__ = ["recipe"]

_KINDS = "|".join([*REGISTERS, "f16", "bf16"])
_NAME = re.compile(rf"fold_(max|sum|squares)_([ve])_(\d+)x(\d+)x(\d+)_({_KINDS})_({'|'.join(REGISTERS)})")


def recipe(name: str) -> Recipe:
    """The primitive called ``name``.

    Raises:
        KeyError: for a name that is no micro-kernel's.
    """
    match = matched(_NAME, name)
    operation, form, rows, vectors, lanes, kind, register = match.groups()
    tile = Tile(True, form + "b", int(rows), int(vectors), int(lanes), kind, kind, register)
    index, pointer = types.intp, types.voidptr
    operands = (pointer, *[index] * 4, pointer, *[index] * (2 + 2 * LOOPS + 4))

    def write(e: Emitter, arguments: Sequence[ir.Value]) -> None:
        _FOLDS[operation](tile, e, _with_shared(arguments)).write()

    return micro_kernel(name, operands, write)


def _with_shared(arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """The operands of a tile: a shared one is added, which is never read."""
    own, loops, rest = arguments[:8], arguments[8 : 8 + 2 * LOOPS], arguments[8 + 2 * LOOPS :]
    steps = [x for i in range(LOOPS) for x in (*loops[2 * i : 2 * i + 2], I64(0))]
    return [*own, own[5], I64(0), *steps, *rest]


class _Fold(TileWriter):
    """A tile whose rows are combined with nothing but each other."""

    def step(self, sums: list[ir.Value], s: ir.Value, v: ir.Value, masks: list[ir.Value]) -> list[ir.Value]:
        tile = self.tile
        result = []
        for r in range(tile.rows):
            place = self.memory.at(s, self.row_offsets[r], tile.row_type)
            own = self.operand(place, tile.form[0], tile.row_type, masks)
            result += [self.take(sums[r * tile.vectors + j], own[j]) for j in range(tile.vectors)]
        return result

    def take(self, total: ir.Value, element: ir.Value) -> ir.Value:
        """A partial result with one more element."""
        return self.join(total, element)


class _Sum(_Fold):
    pass


class _Squares(_Fold):
    def take(self, total: ir.Value, element: ir.Value) -> ir.Value:
        return self.memory.multiply_add(element, element, total)


class _Max(_Fold):
    def __init__(self, tile: Tile, e: Emitter, arguments: Sequence[ir.Value]) -> None:
        register = REGISTERS[tile.register]
        self.identity = -math.inf if register.floating else register.lowest
        super().__init__(tile, e, arguments)

    def join(self, x: ir.Value, y: ir.Value) -> ir.Value:
        register = REGISTERS[self.tile.register]
        if register.floating:
            # A NaN stays; the sign of a zero is worth two instructions.
            return self.e.call("llvm.maximum", [x, y], flags=("nsz",))
        return self.e.call(f"llvm.{'s' if register.signed else 'u'}max", [x, y])


_FOLDS: dict[str, type[_Fold]] = {"max": _Max, "sum": _Sum, "squares": _Squares}
