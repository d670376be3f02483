"""Kernels of row groups whose rows lie in memory one after another: a unit is one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from basalt.ops.types import is_float

from ..codegen.accumulators import combined, identity
from ..codegen.body import Access, Body, cost_of
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.loop_nest import say_how_many
from ..codegen.rows import REDUCTIONS, RowGroup
from ..codegen.terms import SUFFIX, register_suffix
from ..codegen.units import each_unit
from ..ir import Node, Value
from .falling import Falling
from .row_places import RowPlaces

BLOCK = 4096
"""Elements of a row that are summed on their own: totals of long rows would lose what single elements add."""


def row_call(group: RowGroup) -> Call:
    """The kernel that walks each row once a stage, and once more if something is stored for each element."""
    return _RowWriter(group).write()


class _RowWriter:
    def __init__(self, group: RowGroup) -> None:
        self.group, self.plan = group, group.plan
        self.kernel = KernelBuilder("rows: " + "+".join(n.op for n in group.nodes))
        self.body = Body(self.kernel, (), len(group.kept) + len(group.reduced))
        self.places = RowPlaces(group, self.body)
        self.names: dict[Value, str] = {}
        self.falling = Falling.of(group)

    def write(self) -> Call:
        kernel, group = self.kernel, self.group
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(group.kept)]
        self.lengths = [kernel.parameter(f"n{i}", d) for i, d in enumerate(group.reduced)]
        with each_unit(kernel, sizes) as indices:
            self.body.start_row(indices)
            for value, access in self.body.inputs.items():
                if not self.plan.varies[value]:
                    self.names[value] = self.body.load(access, access.base)
            self._numbers_of_stage(0)
            for stage, reductions in enumerate(self.plan.stages):
                self._stage(stage, reductions)
                self._numbers_of_stage(stage + 1)
            self._store_rows()
            for value, access in self.places.row_numbers():
                self.body.store(access, access.base, self.names[value])
        self.places.offer_in_place()
        passes = len(self.plan.stages) + bool(self.places.row_results())
        work = passes * 0.1 + self.body.cost_of_point() + cost_of(group.nodes)
        return kernel.call(group.rows, group.rows * (group.length * work + 10.0))

    def _numbers_of_stage(self, stage: int) -> None:
        """Compute what is one number a row and has become available."""
        for node in self.group.nodes:
            value = node.output
            if node.op not in REDUCTIONS and not self.plan.varies[value] and self.plan.stage_of[value] == stage:
                self.names[value] = self.body.compute(node, self.names)

    def _stage(self, stage: int, reductions: Sequence[Node]) -> None:
        """Feed reductions with a pass over the row."""
        kernel = self.kernel
        totals = {node: kernel.temporary("acc") for node in reductions}
        for node, total in totals.items():
            kernel.line(f"{total} = {self.body.terms.constant(identity(node), node.output.dtype)}")
        sums = [n for n in reductions if n.op == "reduce_sum" and is_float(n.output.dtype)]
        blocked = sums if self.group.reduced[-1] > BLOCK else []
        with self._elements(blocked, totals) as (bases, running):
            names = dict(self.names)
            for node, total in running.items():
                element = self._value(node.inputs[0], names, bases)
                text = combined(node, total, element)
                kernel.line(f"{total} = {text.replace('rmax', 'xmax', 1) if node in self.falling.largest else text}")
            for value, place in self.plan.spilled.items():
                if value in names and self.plan.stage_of[value] == stage:
                    self._write_back(place, names[value], bases)
        for node in sums:
            if not self.plan.varies[node.inputs[0]]:  # type: ignore[index]
                self._multiply(node, totals[node])
        self.names |= {node.output: total for node, total in totals.items()}

    def _multiply(self, node: Node, total: str) -> None:
        """A sum of equal numbers, which rounds once as a product and at each addition otherwise."""
        register = register_suffix(node.output.dtype)
        count = self.kernel.real(self.kernel.temporary("count"), float(self.group.length), register)
        self.kernel.line(f"{total} = mul_{register}({self.names[node.inputs[0]]}, {count})")  # type: ignore[index]

    def _store_rows(self) -> None:
        results = self.places.row_results()
        if not results:
            return
        with self._elements() as (bases, _):
            names = dict(self.names)
            for value, place in self.plan.spilled.items():
                names[value] = self._read_back(place, bases)
            for value, _ in results:
                self._value(value, names, bases)
            for value, access in results:
                if value in self.plan.spilled.values():
                    self._write_back(value, names[value], bases)
                else:
                    self.body.store(access, self._index(access, bases), names[value])

    def _value(self, value: Value | None, names: dict[Value, str], bases: dict[Access, str]) -> str:
        """The local name of a value at the current element, computed from loads where it is not there yet."""
        assert value is not None
        if value in names:
            return names[value]
        if value in self.body.inputs:
            access = self.body.inputs[value]
            names[value] = self.body.load(access, self._index(access, bases))
            return names[value]
        node = next(n for n in self.group.nodes if n.output is value)
        for operand in node.present:
            self._value(operand, names, bases)
        names[value] = self._fall(node, names) if node in self.falling.powers else self.body.compute(node, names)
        return names[value]

    def _fall(self, node: Node, names: Mapping[Value, str]) -> str:
        operand = node.present[0]
        return self.kernel.define(f"fall_{register_suffix(operand.dtype)}({names[operand]})")

    def _write_back(self, place: Value, name: str, bases: dict[Access, str]) -> None:
        access = self.places.result(place)
        self.kernel.line(f"storerw_{SUFFIX[access.dtype]}({access.pointer}, {self._index(access, bases)}, {name})")

    def _read_back(self, place: Value, bases: dict[Access, str]) -> str:
        access = self.places.result(place)
        return self.kernel.define(f"loadrw_{SUFFIX[access.dtype]}({access.pointer}, {self._index(access, bases)})", "v")

    @staticmethod
    def _index(access: Access, bases: dict[Access, str]) -> str:
        seen = Access(access.pointer, access.dtype, access.strides, bases.get(access, access.base))
        return seen.index(-1, "j")

    @contextmanager
    def _elements(
        self, blocked: Sequence[Node] = (), totals: Mapping[Node, str] | None = None
    ) -> Iterator[tuple[dict[Access, str], dict[Node, str]]]:
        """The loops over a row's elements.

        Args:
            blocked: the sums to take block by block.
            totals: the local names of reductions' totals.

        Yields:
            Where each view's innermost run starts, if not at its base, and the totals to add to inside the loops.
        """
        kernel, outer = self.kernel, self.lengths[:-1]
        for level, length in enumerate(outer):
            kernel.open(f"for k{level} in range({length})")
        bases = self._starts_of_runs(len(outer))
        running, last = dict(totals or {}), self.lengths[-1]
        if blocked:
            kernel.open(f"for b in range(0, {last}, {BLOCK})")
            running |= {n: kernel.define(self.body.terms.constant(0, n.output.dtype), "part") for n in blocked}
        span = f"b, min(b + {BLOCK}, {last})" if blocked else last
        with kernel.block(f"for j in range({span})"):
            say_how_many(kernel, self.group.reduced[-1], self.group.nodes)
            yield bases, running
        for node in blocked:
            total = running[node]
            kernel.line(f"{totals[node]} = add_{register_suffix(node.output.dtype)}({totals[node]}, {total})")  # type: ignore[index]
        kernel.close(len(outer) + bool(blocked))

    def _starts_of_runs(self, levels: int) -> dict[Access, str]:
        bases: dict[Access, str] = {}
        first = len(self.group.kept)
        for access in (*self.body.inputs.values(), *(a for _, a in self.body.outputs)):
            steps = [
                f"k{level}" if access.strides[first + level] == "1" else f"k{level} * {access.strides[first + level]}"
                for level in range(levels)
                if access.strides[first + level] != "0"
            ]
            if steps:
                bases[access] = self.kernel.define(" + ".join([access.base, *steps]), "b")
        return bases
