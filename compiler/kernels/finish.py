"""Programs that finish a block of sums: what a micro-kernel applies to its results, vector by vector, before it stores.

A program stands in its micro-kernel's name, one token after another, joined by underscores. Values are numbered: the
sum is 0, then come the operands, then the results of the operators. Operands (in this order among the micro-kernel's):

- ``c``: a vector that all rows share: pointer, index;
- ``x``: a vector of each row: pointer, index, row stride;
- ``s``: one element of each row: pointer, index, row stride;
- ``k``: a number.

Then operators, each a primitive of the register type and the numbers of its operands (``add_0_1``), then what is
stored, ``y_5``: pointer, index, row stride. Everything in memory is of the register type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from basalt.compiler.kernels import types
from basalt.compiler.kernels.emit import I64, REGISTERS, Emitter
from basalt.compiler.kernels.loops import counted
from basalt.compiler.kernels.vectors import VectorMemory, bytes_of

__all__ = ["PATTERN", "Find", "Finish", "Finisher", "parsed"]

PATTERN = r"(?:_[cxsk])*(?:_[a-z][a-z0-9]+(?:_\d+)+)*(?:_y_\d+)+"
"""What a program looks like in a name, with the underscore before it."""
_SIZES = {"c": 2, "x": 3, "s": 3, "k": 1, "y": 3}
SHORT = 6
"""Most operators that are written out for every row instead of once in a loop."""
_CHEAP = frozenset({"add", "sub", "mul", "max", "min", "relu", "clamp", "neg", "abs"})
Find = Callable[[str], Any]


@dataclass(frozen=True)
class Finish:
    """A program: its operands' kinds, operators with the numbers of what they take, and the values stored."""

    operands: tuple[str, ...]
    operators: tuple[tuple[str, tuple[int, ...]], ...]
    stored: tuple[int, ...]

    def types(self, register: str) -> list[Any]:
        """The types of a program's arguments."""
        index, pointer = types.intp, types.voidptr
        kinds = {"c": [pointer, index], "k": [REGISTERS[register].type]}
        each = [pointer, index, index]
        return [t for kind in [*self.operands, *("y" * len(self.stored))] for t in kinds.get(kind, each)]


def parsed(text: str) -> Finish:
    """The program of a name's part that :data:`PATTERN` matches."""
    operands: list[str] = []
    steps: list[tuple[str, list[int]]] = []
    for token in text.split("_")[1:]:
        if token.isdigit():
            steps[-1][1].append(int(token))
        elif token in ("c", "x", "s", "k"):
            operands.append(token)
        else:
            steps.append((token, []))
    operators = tuple((op, tuple(numbers)) for op, numbers in steps if op != "y")
    return Finish(tuple(operands), operators, tuple(numbers[0] for op, numbers in steps if op == "y"))


class Finisher:
    """Emits a program for blocks of ``vectors`` vectors a row; ``find`` gives a primitive's recipe by name."""

    def __init__(
        self,
        finish: Finish,
        memory: VectorMemory,
        register: str,
        vectors: int,
        arguments: Sequence[ir.Value],
        find: Find,
    ) -> None:
        self.finish, self.memory, self.register, self.vectors = finish, memory, register, vectors
        self.e: Emitter = memory.e
        self.find = find
        self.given: list[tuple[str, Sequence[ir.Value]]] = []
        self.masks: Sequence[ir.Value] | None = None
        self.shared: dict[int, list[ir.Value]] = {}
        place = 0
        for kind in [*finish.operands, *("y" * len(finish.stored))]:
            self.given.append((kind, arguments[place : place + _SIZES[kind]]))
            place += _SIZES[kind]
        self.first = self.given

    @property
    def is_short(self) -> bool:
        """Whether the program is better written out for every row than once in a loop over sums in memory."""
        operators = self.finish.operators
        return len(operators) <= SHORT and all(op in _CHEAP for op, _ in operators)

    def move(self, columns: ir.Value, rows: ir.Value | None = None) -> None:
        """Have blocks start some columns after the first place, and some rows below it."""
        if rows is None:
            self.given = self.first
        else:
            self.move_down(rows)
        add = self.e.b.add
        self.given = [
            (kind, (given[0], add(given[1], columns), *given[2:]) if kind in "cxy" else given)
            for kind, given in self.given
        ]

    def move_down(self, rows: ir.Value) -> None:
        """Have blocks start some rows below the first place."""
        b = self.e.b
        self.given = [
            (kind, (given[0], b.add(given[1], b.mul(rows, given[2])), given[2])) if kind in "xsy" else (kind, given)
            for kind, given in self.first
        ]

    def rows(self, masks: Sequence[ir.Value] | None, sums: Sequence[ir.Value], rows: ir.Value, block: ir.Value) -> None:
        """Emit the program for the first ``rows`` rows of sums in registers; ``block`` is memory for them.

        ``masks`` say which columns are read and stored, None if all are.
        """
        b, vectors, lanes = self.e.b, self.vectors, self.memory.lanes
        self.prepare(masks)
        if self.is_short:
            for r in range(len(sums) // vectors):
                with b.if_then(b.icmp_signed("<", I64(r), rows), likely=True):
                    self.row(I64(r), sums[r * vectors : (r + 1) * vectors])
            return
        for number, value in enumerate(sums):
            b.store(value, self.memory.at(block, I64(number * lanes), self.register), align=64)

        def body(r: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            (place,) = carried
            kept = [self.memory.at(place, I64(j * lanes), self.register) for j in range(vectors)]
            self.row(r, [b.load(p, typ=self.memory.vector, align=64) for p in kept])
            return [self.memory.at(place, I64(vectors * lanes), self.register)]

        counted(b, rows, [block], body)

    def prepare(self, masks: Sequence[ir.Value] | None) -> None:
        """Emit what all rows share."""
        self.masks = masks
        self.shared = {}
        for number, (kind, arguments) in enumerate(self.given):
            if kind == "c":
                self.shared[number] = self._vectors(*arguments)
            elif kind == "k":
                self.shared[number] = [self.memory.splat(arguments[0])] * self.vectors

    def row(self, row: ir.Value, sums: Sequence[ir.Value]) -> None:
        """Emit the program for one row's sums, and its stores."""
        values: list[list[ir.Value]] = [list(sums)]
        for number, kind in enumerate(self.finish.operands):
            values.append(self.shared[number] if number in self.shared else self._of_row(number, kind, row))
        for op, numbers in self.finish.operators:
            emit = self.find(f"{op}_{self.register}").emit
            values.append([emit(self.e, *(values[n][j] for n in numbers)) for j in range(self.vectors)])
        first = len(self.finish.operands)
        for (_, arguments), number in zip(self.given[first:], self.finish.stored):
            index = self._index(arguments, row)
            for j, value in enumerate(values[number]):
                self._store(value, self._place(arguments[0], index, j), None if self.masks is None else self.masks[j])

    def _of_row(self, number: int, kind: str, row: ir.Value) -> list[ir.Value]:
        arguments = self.given[number][1]
        index = self._index(arguments, row)
        if kind == "x":
            return self._vectors(arguments[0], index)
        return [self.memory.broadcast(self._place(arguments[0], index, 0), self.register)] * self.vectors

    def _index(self, arguments: Sequence[ir.Value], row: ir.Value) -> ir.Value:
        return self.e.b.add(arguments[1], self.e.b.mul(row, arguments[2]))

    def _place(self, pointer: ir.Value, index: ir.Value, vector: int) -> ir.Value:
        place = self.memory.at(pointer, index, self.register)
        return self.memory.at(place, I64(vector * self.memory.lanes), self.register)

    def _vectors(self, pointer: ir.Value, index: ir.Value) -> list[ir.Value]:
        places = [self._place(pointer, index, j) for j in range(self.vectors)]
        masks: Sequence[ir.Value | None] = self.masks or [None] * self.vectors
        return [self.memory.load(place, self.register, mask) for place, mask in zip(places, masks)]

    def _store(self, value: ir.Value, place: ir.Value, mask: ir.Value | None) -> None:
        if mask is None:
            self.e.b.store(value, place, align=bytes_of(self.register))
        else:
            self.memory.store_masked(value, place, self.register, mask)
