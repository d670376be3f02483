"""Kernels of row groups with short rows: a whole row in registers, the loop running over neighbouring rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..codegen.accumulators import combined, identity
from ..codegen.body import Access, Body, cost_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.loop_nest import write_loops
from ..codegen.rows import REDUCTIONS, RowGroup
from ..ir import Node, Value
from .row_places import RowPlaces

LONGEST = 16
"""Most elements of a row."""
OPERATORS = 64
"""Most operators that unrolling the rows may make."""

_Names = dict[Value, list[str]]
"""The local name of a value at each element of the row; one name for what does not vary."""


def fits_registers(group: RowGroup) -> bool:
    """Whether the rows are short enough to be unrolled."""
    return group.length <= LONGEST and group.length * len(group.nodes) <= OPERATORS


def short_row_call(group: RowGroup) -> Call:
    """The kernel of a group all of whose elements of a row are written out one by one."""
    return _ShortRowWriter(group).write()


class _ShortRowWriter:
    def __init__(self, group: RowGroup) -> None:
        self.group, self.plan = group, group.plan
        self.kernel = KernelBuilder(f"rows of {group.length}: " + "+".join(n.op for n in group.nodes))
        self.body = Body(self.kernel, (), len(group.kept) + len(group.reduced), literal=LONGEST)
        self.places = RowPlaces(group, self.body)
        first = len(group.kept)
        self.inner = first - 1
        self.elements = [
            {first + axis: place for axis, place in enumerate(places)}
            for places in product(*(range(d) for d in group.reduced))
        ]

    def write(self) -> Call:
        units, shortest = write_loops(self.body, self.group.kept, self._hoist, self._row)
        self.places.offer_in_place()
        work = self.body.cost_of_point() + cost_of(self.group.nodes)
        return self.kernel.call(units, self.group.rows * (self.group.length * work + 1.0), min_chunk=shortest)

    def _hoist(self) -> _Names:
        """Load the operands that are the same for neighbouring rows."""
        return {
            value: self._load(value, access, "0")
            for value, access in self.body.inputs.items()
            if access.strides[self.inner] == "0"
        }

    def _row(self, variable: str, hoisted: _Names) -> None:
        names = dict(hoisted)
        for value, access in self.body.inputs.items():
            if value not in names:
                names[value] = self._load(value, access, variable)
        for node in self.group.nodes:
            names[node.output] = self._reduce(node, names) if node.op in REDUCTIONS else self._compute(node, names)
        for value, access in self.places.row_numbers():
            self.body.store(access, access.index(self.inner, variable), names[value][0])
        for value, access in self.places.row_results():
            for element, name in zip(self.elements, self._each(names[value])):
                self.body.store(access, access.element(self.inner, variable, element), name)

    def _load(self, value: Value, access: Access, variable: str) -> list[str]:
        elements = self.elements if self.plan.varies[value] else self.elements[:1] or [{}]
        return [self.body.load(access, access.element(self.inner, variable, element)) for element in elements]

    def _reduce(self, node: Node, names: _Names) -> list[str]:
        operand = node.inputs[0]
        assert operand is not None
        elements = self._each(names[operand])
        if not elements:
            return [self.body.terms.constant(identity(node), node.output.dtype)]
        # Pair by pair, and in this order: LLVM may add up otherwise in vectors than in the rows that fill none.
        while len(elements) > 1:
            pairs = zip(elements[::2], elements[1::2])
            added = [self.kernel.define(combined(node, x, y, ordered=True)) for x, y in pairs]
            elements = added + elements[len(elements) & ~1 :]
        return elements

    def _compute(self, node: Node, names: _Names) -> list[str]:
        if not self.plan.varies[node.output]:
            return [self.body.compute(node, {v: names[v][0] for v in node.present})]
        rows = [dict(zip(node.present, row)) for row in zip(*(self._each(names[v]) for v in node.present))]
        return [self.body.compute(node, row) for row in rows]

    def _each(self, names: Sequence[str]) -> list[str]:
        """A name for each element of the row."""
        return list(names) * len(self.elements) if len(names) == 1 and len(self.elements) != 1 else list(names)
