"""Kernels of row groups whose rows lie side by side in memory: neighbouring rows are computed together.

A unit is a block of neighbouring rows. It walks them once a stage, element after element, each time over the whole
block, so that memory is read in order; what the rows have in common so far lies in scratch memory on the stack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..codegen.accumulators import combined, identity
from ..codegen.body import Body, cost_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.rows import REDUCTIONS, RowGroup
from ..codegen.terms import SUFFIX, register_suffix
from ..codegen.units import each_unit
from ..ir import Node, Value
from .row_places import RowPlaces

WIDEST = 512
NARROWEST = 64
"""Rows of a block: wide ones read memory in longer runs, narrow ones give threads more to share."""
PANEL = 1 << 17
"""Bytes of a block's elements, to be read again from the cache by the next pass."""
UNITS = 8
"""Units that leave threads a choice."""
CACHED = 1 << 18
"""Elements that the cache holds, so that short runs cost little."""
TOGETHER = 4
"""Elements of each row that a plain reduction adds up before it touches its scratch memory."""


def _widest(group: RowGroup) -> int:
    """The most rows of a block, for which there is scratch memory."""
    numbers = sum(not group.plan.varies[n.output] for n in group.nodes)
    return WIDEST if numbers <= 8 else 2 * NARROWEST if numbers <= 32 else NARROWEST


def column_block(group: RowGroup) -> int:
    """The rows of a block."""
    width, widest = group.kept[-1], _widest(group)
    passes = len(group.plan.stages) + bool(group.row_outputs())
    fitting = PANEL // (4 * max(group.length, 1)) // 16 * 16
    block = widest if passes == 1 else max(NARROWEST, min(widest, fitting))
    if group.rows * group.length <= CACHED:
        while block > NARROWEST and math.prod(group.kept[:-1]) * -(-width // block) < UNITS:
            block //= 2
    return max(block // 16 * 16, 16)


def column_units(group: RowGroup) -> int:
    """How many blocks there are."""
    return math.prod(group.kept[:-1]) * -(-group.kept[-1] // column_block(group))


def column_call(group: RowGroup) -> Call:
    """The kernel that computes blocks of neighbouring rows."""
    return _ColumnWriter(group).write()


class _ColumnWriter:
    def __init__(self, group: RowGroup) -> None:
        self.group, self.plan = group, group.plan
        self.kernel = KernelBuilder("columns: " + "+".join(n.op for n in group.nodes))
        self.rank = len(group.kept) + len(group.reduced)
        first = len(group.kept) - 1
        # The loops run over the kept outer dimensions, then the reduced ones, then the innermost kept one.
        order = [*range(first), *range(first + 1, self.rank), first]
        self.reduced = range(first, self.rank - 1)
        self.body = Body(self.kernel, (), self.rank, based=True)
        self.places = RowPlaces(group, self.body, order)
        self.scratch: dict[Value, str] = {}

    def write(self) -> Call:
        kernel, group = self.kernel, self.group
        block = column_block(group)
        n, width = kernel.parameter("n", group.kept[-1]), kernel.parameter("width", block)
        counts = [kernel.parameter(f"d{i}", d) for i, d in enumerate(group.kept[:-1])]
        counts.append(kernel.parameter("blocks", -(-group.kept[-1] // block)))
        self.lengths = [kernel.parameter(f"n{i}", d) for i, d in enumerate(group.reduced)]
        for node in group.nodes:
            if not self.plan.varies[node.output]:
                self.scratch[node.output] = kernel.temporary("row")
                size = 8 if register_suffix(node.output.dtype).endswith("64") else 4
                kernel.top(f"{self.scratch[node.output]} = stack_{size * _widest(group)}()")
        with each_unit(kernel, counts) as indices:
            kernel.line(f"first = {indices[len(counts) - 1]} * {width}")
            kernel.line(f"count = min({width}, {n} - first)")
            self.outer = {axis: indices[axis] for axis in range(len(counts) - 1)} | {self.rank - 1: "first"}
            self._numbers_of_stage(0)
            for stage, reductions in enumerate(self.plan.stages):
                self._stage(stage, reductions)
                self._numbers_of_stage(stage + 1)
            self._store_rows()
            self._store_numbers()
        self.places.offer_in_place()
        passes = len(self.plan.stages) + bool(self.places.row_results())
        work = passes * 0.1 + self.body.cost_of_point() + cost_of(group.nodes)
        return kernel.call(column_units(group), group.rows * (group.length * work + 1.0))

    def _numbers_of_stage(self, stage: int) -> None:
        """Compute what is one number a row and has become available."""
        chosen = [
            n
            for n in self.group.nodes
            if n.op not in REDUCTIONS and not self.plan.varies[n.output] and self.plan.stage_of[n.output] == stage
        ]
        if not chosen:
            return
        self._start(dict.fromkeys(self.reduced, "0"))
        with self.kernel.block("for j in range(count)"):
            names: dict[Value, str] = {}
            for node in chosen:
                self._value(node.output, names, computing=True)
                self._keep(node.output, names[node.output])

    def _stage(self, stage: int, reductions: Sequence[Node]) -> None:
        """Feed reductions with a pass over the block."""
        kernel = self.kernel
        with kernel.block("for j in range(count)"):
            for node in reductions:
                self._keep(node.output, self.body.terms.constant(identity(node), node.output.dtype))
        spilled = [v for v in self.plan.spilled if self.plan.stage_of[v] == stage]
        together = TOGETHER if len(reductions) == 1 and not spilled else 1
        *outer, last = zip(self.reduced, self.lengths)
        for axis, length in outer:
            kernel.open(f"for k{axis} in range({length})")
        starts = [("0", f"{last[1]} // {together}", f" * {together}")] if together > 1 else []
        starts.append((f"{last[1]} // {together} * {together}" if together > 1 else "0", last[1], ""))
        for first, end, scaled in starts:
            with kernel.block(f"for k in range({first}, {end})"):
                self._start({**{axis: f"k{axis}" for axis, _ in outer}, last[0]: f"k{scaled}"})
                self._feed(reductions, spilled, together if scaled else 1, last[0])
        kernel.close(len(outer))

    def _feed(self, reductions: Sequence[Node], spilled: Sequence[Value], together: int, axis: int) -> None:
        """Write the loop over the block that takes in one or a few elements of each row."""
        kernel = self.kernel
        hoisted = [self._hoisted({axis: place}) for place in range(together)]
        with kernel.block("for j in range(count)"):
            for node in reductions:
                parts = []
                for place, known in enumerate(hoisted):
                    names = dict(known)
                    parts.append(self._value(node.inputs[0], names, {axis: place}))
                while len(parts) > 1:
                    pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
                    parts = [kernel.define(combined(node, *pair)) if len(pair) == 2 else pair[0] for pair in pairs]
                self._keep(node.output, combined(node, self._kept(node.output), parts[0]))
                for value in spilled:
                    if value in names:
                        self._write_back(self.plan.spilled[value], names[value])

    def _store_rows(self) -> None:
        results = self.places.row_results()
        if not results:
            return
        kernel = self.kernel
        for axis, length in zip(self.reduced, self.lengths):
            kernel.open(f"for k{axis} in range({length})")
        self._start({axis: f"k{axis}" for axis in self.reduced})
        names = self._hoisted({})
        with kernel.block("for j in range(count)"):
            for value, place in self.plan.spilled.items():
                names[value] = self._read_back(place)
            for value, _ in results:
                self._value(value, names)
            for value, access in results:
                if value in self.plan.spilled.values():
                    self._write_back(value, names[value])
                else:
                    self.body.store(access, access.index(-1, "j"), names[value])
        kernel.close(len(self.lengths))

    def _store_numbers(self) -> None:
        results = self.places.row_numbers()
        if not results:
            return
        self._start(dict.fromkeys(self.reduced, "0"))
        with self.kernel.block("for j in range(count)"):
            names: dict[Value, str] = {}
            for value, access in results:
                self.body.store(access, access.index(-1, "j"), self._value(value, names))

    def _start(self, elements: dict[int, str]) -> None:
        self.body.start_row({**self.outer, **elements})

    def _hoisted(self, places: dict[int, int]) -> dict[Value, str]:
        """Load what is the same for all rows of a block."""
        return {
            value: self.body.load(access, access.element(-1, "0", places))
            for value, access in self.body.inputs.items()
            if access.strides[-1] == "0"
        }

    def _value(
        self,
        value: Value | None,
        names: dict[Value, str],
        places: dict[int, int] | None = None,
        *,
        computing: bool = False,
    ) -> str:
        """The local name of a value for row ``j``: kept, loaded, or computed where it is not there yet."""
        assert value is not None
        if value in names:
            return names[value]
        if value in self.scratch and not computing:
            names[value] = self.kernel.define(self._kept(value), "v")
        elif value in self.body.inputs:
            access = self.body.inputs[value]
            names[value] = self.body.load(access, access.element(-1, "j", places or {}))
        else:
            node = next(n for n in self.group.nodes if n.output is value)
            for operand in node.present:
                self._value(operand, names, places)
            names[value] = self.body.compute(node, names)
        return names[value]

    def _kept(self, value: Value) -> str:
        text = f"loadrw_{register_suffix(value.dtype)}({self.scratch[value]}, j)"
        return f"u8_bool({text})" if value.dtype == "bool" else text

    def _keep(self, value: Value, name: str) -> None:
        kept = f"bool_u8({name})" if value.dtype == "bool" else name
        self.kernel.line(f"storerw_{register_suffix(value.dtype)}({self.scratch[value]}, j, {kept})")

    def _write_back(self, place: Value, name: str) -> None:
        access = self.places.result(place)
        self.kernel.line(f"storerw_{SUFFIX[access.dtype]}({access.pointer}, {access.index(-1, 'j')}, {name})")

    def _read_back(self, place: Value) -> str:
        access = self.places.result(place)
        return self.kernel.define(f"loadrw_{SUFFIX[access.dtype]}({access.pointer}, {access.index(-1, 'j')})", "v")
