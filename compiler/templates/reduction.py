"""Row kernels: reductions over any axes, with everything element-wise before, between and after them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from basalt.ops.types import integer_bounds, is_float

from ..codegen.body import Access, Body
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.rows import REDUCTIONS, RowPlan, plan_rows
from ..codegen.terms import SUFFIX, register_suffix
from ..ir import FUSED, Node, Value
from ..views import View, collapse
from .column_reduction import column_call, wants_columns
from .elementwise import decode

_COMBINE = {"reduce_sum": "radd", "reduce_product": "rmul", "reduce_max": "rmax", "reduce_min": "rmin"}


@dataclass
class RowGroup:
    """A row group with the places of everything it reads and stores."""

    nodes: tuple[Node, ...]
    inputs: list[tuple[Value, View]]
    outputs: list[tuple[Value, View]]
    plan: RowPlan


@template("rows", *REDUCTIONS)
def reduce(node: Node, lowering: Lowering) -> None:
    """Lower a reduction, or a fused group of reductions over one set of axes."""
    if node.op == FUSED:
        nodes, inner_in, inner_out = node.body.nodes, node.body.inputs, [v for _, v in node.body.outputs]
    else:
        nodes, inner_in, inner_out = (node,), node.present, list(node.outputs)
    inputs = [(i, lowering.read(o)) for i, o in zip(inner_in, node.present)]
    outputs = [(i, lowering.write(o)) for i, o in zip(inner_out, node.outputs)]
    if node.op != FUSED:
        outputs = [(v, _with_kept_dimensions(node, view)) for v, view in outputs]
    group = RowGroup(nodes, inputs, outputs, plan_rows(nodes, inner_in, inner_out))
    if wants_columns(group.plan, inputs, outputs):
        lowering.add(column_call(group.nodes, inputs, outputs, group.plan, lowering))
    else:
        lowering.add(_RowWriter(group).write())


def _with_kept_dimensions(node: Node, view: View) -> View:
    """The result of a reduction with its reduced dimensions as dimensions of size 1."""
    if node.attrs["keep_dimensions"]:
        return view
    shape, strides = list(view.shape), list(view.strides)
    for axis in sorted(node.attrs["axes"]):
        shape.insert(axis, 1)
        strides.insert(axis, 0)
    return replace(view, shape=tuple(shape), strides=tuple(strides))


class _RowWriter:
    """Writes the kernel of a row group; a unit is one row."""

    def __init__(self, group: RowGroup) -> None:
        self.group = group
        self.plan = group.plan
        self.kernel = KernelBuilder("rows: " + "+".join(n.op for n in group.nodes))
        shape, axes = self.plan.shape, self.plan.axes
        self.outer_axes = [i for i in range(len(shape)) if i not in axes]
        views = [v.expanded(shape) for _, v in group.inputs] + [self._full(v) for _, v in group.outputs]
        self.outer, outer_strides = collapse([shape[a] for a in self.outer_axes], _pick(views, self.outer_axes))
        self.inner, inner_strides = collapse([shape[a] for a in axes], _pick(views, list(axes)))
        self.body = Body(self.kernel, (), len(self.outer) + len(self.inner))
        strides = [o + i for o, i in zip(outer_strides, inner_strides)]
        for (value, view), s in zip(group.inputs, strides):
            self.body.declare_input(value, view, s)
        for (value, view), s in zip(group.outputs, strides[len(group.inputs) :]):
            self.body.declare_output(value, view, s)
        self.names: dict[Value, str] = {}

    def _full(self, view: View) -> View:
        """A stored value over the whole space: a stride of 0 along the row if it is one number a row."""
        return view.expanded(self.plan.shape)

    def write(self) -> Call:
        kernel = self.kernel
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(self.outer)]
        lengths = [kernel.parameter(f"n{i}", d) for i, d in enumerate(self.inner)]
        with kernel.block("for u in range(start, stop)"):
            self.body.start_row(decode(kernel, "u", sizes))
            for value, access in self.body.inputs.items():
                if not self.plan.varies[value]:
                    self.names[value] = self.body.load(access, access.base)
            self._constants_of_stage(0)
            for stage, reductions in enumerate(self.plan.stages):
                self._stage(stage, reductions, lengths)
                self._constants_of_stage(stage + 1)
            self._store_rows(lengths)
            for value, access in self.body.outputs:
                if not self.plan.varies[value]:
                    self.body.store(access, access.base, self.names[value])
        rows, length = math.prod(self.outer), math.prod(self.inner)
        passes = len(self.plan.stages) + any(self.plan.varies[v] for v, _ in self.body.outputs)
        cost = rows * length * (passes * 0.1 + self.body.cost_of_point()) + rows * 10.0
        return kernel.call(rows, cost)

    def _constants_of_stage(self, stage: int) -> None:
        """Compute what is one number a row and has become available."""
        for node in self.group.nodes:
            value = node.output
            if node.op not in REDUCTIONS and not self.plan.varies[value] and self.plan.stage_of[value] == stage:
                self.names[value] = self.body.compute(node, self.names)

    def _stage(self, stage: int, reductions: Sequence[Node], lengths: Sequence[str]) -> None:
        kernel = self.kernel
        sums = {}
        for node in reductions:
            dtype = node.output.dtype
            sums[node] = kernel.temporary("acc")
            kernel.line(f"{sums[node]} = {self.body.terms.constant(identity(node), dtype)}")
        with self._points(lengths) as access_of:
            names = dict(self.names)
            for node in reductions:
                operand = self._value(node.inputs[0], names, access_of)
                suffix = register_suffix(node.output.dtype)
                kernel.line(f"{sums[node]} = {_COMBINE[node.op]}_{suffix}({sums[node]}, {operand})")
            for value, place in self.plan.spilled.items():
                if value in names and value not in self.names and self.plan.stage_of[value] == stage:
                    self._store_spilled(place, names[value], access_of)
        for node in reductions:
            narrow = {"float16": "round_f16", "bfloat16": "round_bf16"}.get(node.output.dtype)
            self.names[node.output] = sums[node]
            if narrow:
                kernel.line(f"{sums[node]} = {narrow}({sums[node]})")

    def _store_rows(self, lengths: Sequence[str]) -> None:
        rows = [(v, a) for v, a in self.body.outputs if self.plan.varies[v]]
        if not rows:
            return
        with self._points(lengths) as access_of:
            names = dict(self.names)
            for value, place in self.plan.spilled.items():
                names[value] = self._load_spilled(place, access_of)
            for value, _ in rows:
                self._value(value, names, access_of)
            for value, access in rows:
                if value in self.plan.spilled.values():
                    self._store_spilled(value, names[value], access_of)
                else:
                    inner, variable = access_of(access)
                    self.body.store(inner, inner.index(-1, variable), names[value])

    def _value(self, value: Value | None, names: dict[Value, str], access_of: _AccessOf) -> str:
        """The local name of a value at the current point, computed from loads where it is not there yet."""
        assert value is not None
        if value in names:
            return names[value]
        if value in self.body.inputs:
            inner, variable = access_of(self.body.inputs[value])
            names[value] = self.body.load(inner, inner.index(-1, variable))
            return names[value]
        node = next(n for n in self.group.nodes if n.output is value)
        for operand in node.present:
            self._value(operand, names, access_of)
        names[value] = self.body.compute(node, names)
        return names[value]

    def _spill_access(self, place: Value) -> Access:
        return next(a for v, a in self.body.outputs if v is place)

    def _store_spilled(self, place: Value, name: str, access_of: _AccessOf) -> None:
        inner, variable = access_of(self._spill_access(place))
        self.kernel.line(f"storerw_{SUFFIX[inner.dtype]}({inner.pointer}, {inner.index(-1, variable)}, {name})")

    def _load_spilled(self, place: Value, access_of: _AccessOf) -> str:
        inner, variable = access_of(self._spill_access(place))
        name = self.kernel.temporary("v")
        self.kernel.line(f"{name} = loadrw_{SUFFIX[inner.dtype]}({inner.pointer}, {inner.index(-1, variable)})")
        return name

    def _points(self, lengths: Sequence[str]) -> _Points:
        return _Points(self, lengths)


class _AccessOf:
    """Gives an access seen from inside the loops over the row, and the innermost loop variable."""

    def __init__(self, writer: _RowWriter, bases: dict[Access, str]) -> None:
        self.writer = writer
        self.bases = bases

    def __call__(self, access: Access) -> tuple[Access, str]:
        return Access(access.pointer, access.dtype, access.strides, self.bases.get(access, access.base)), "j"


class _Points:
    """The loops over the elements of a row, as a context manager."""

    def __init__(self, writer: _RowWriter, lengths: Sequence[str]) -> None:
        self.writer = writer
        self.lengths = lengths

    def __enter__(self) -> _AccessOf:
        kernel, body = self.writer.kernel, self.writer.body
        outer = len(self.writer.outer)
        self.depth = kernel._depth
        bases: dict[Access, str] = {}
        for level, length in enumerate(self.lengths[:-1]):
            kernel.line(f"for k{level} in range({length}):")
            kernel._depth += 1
        if len(self.lengths) > 1:
            for access in dict.fromkeys([*body.inputs.values(), *(a for _, a in body.outputs)]):
                steps = [(f"k{i}", access.strides[outer + i]) for i in range(len(self.lengths) - 1)]
                parts = [k if s == "1" else f"{k} * {s}" for k, s in steps if s != "0"]
                if parts:
                    bases[access] = f"{access.pointer}_k"
                    prefix = [] if access.base == "0" else [access.base]
                    kernel.line(f"{bases[access]} = {' + '.join([*prefix, *parts])}")
        kernel.line(f"for j in range({self.lengths[-1]}):")
        kernel._depth += 1
        return _AccessOf(self.writer, bases)

    def __exit__(self, *_: object) -> None:
        self.writer.kernel._depth = self.depth


def _pick(views: Sequence[View], axes: Sequence[int]) -> list[list[int]]:
    return [[v.strides[a] for a in axes] for v in views]


def identity(node: Node) -> float | int:
    """The number that a reduction starts from."""
    dtype = node.output.dtype
    if node.op == "reduce_sum":
        return 0
    if node.op == "reduce_product":
        return 1
    lowest = node.op == "reduce_max"
    if is_float(dtype):
        return -math.inf if lowest else math.inf
    low, high = integer_bounds(dtype)
    return low if lowest else high
