"""Reductions over outer axes: neighbouring results are accumulated together, so that memory is read in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..codegen.body import Body
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.rows import REDUCTIONS, RowPlan
from ..codegen.terms import SUFFIX, register_suffix
from ..ir import Node, Value
from ..views import View, collapse
from .elementwise import decode

if TYPE_CHECKING:
    from ..codegen.lowering import Lowering

BLOCK = 512
"""Neighbouring results that one unit accumulates; they stay in the first-level cache."""


def wants_columns(plan: RowPlan, inputs: Sequence[tuple[Value, View]], outputs: Sequence[tuple[Value, View]]) -> bool:
    """Whether a group is one single reduction whose operand has its unit stride outside the reduced axes."""
    reductions = [n for stage in plan.stages for n in stage]
    if len(reductions) != 1 or any(plan.varies[v] for v, _ in outputs):
        return False
    kept = [a for a in range(len(plan.shape)) if a not in plan.axes and plan.shape[a] != 1]
    if not kept or plan.shape[kept[-1]] < 4:
        return False
    varying = [view.expanded(plan.shape) for value, view in inputs if plan.varies[value]]
    return bool(varying) and all(abs(v.strides[kept[-1]]) <= 1 for v in varying)


def column_call(
    nodes: Sequence[Node],
    inputs: Sequence[tuple[Value, View]],
    outputs: Sequence[tuple[Value, View]],
    plan: RowPlan,
    lowering: Lowering,
) -> Call:
    """The kernel of one reduction over outer axes with its element-wise operators before and after it."""
    at = next(i for i, n in enumerate(nodes) if n.op in REDUCTIONS)
    reduction = nodes[at]
    before = [n for n in nodes if plan.varies[n.output]]
    after = [n for n in nodes if n is not reduction and n not in before]
    writer = _ColumnWriter(reduction, before, after, inputs, outputs, plan, lowering)
    return writer.write()


class _ColumnWriter:
    def __init__(
        self,
        reduction: Node,
        before: Sequence[Node],
        after: Sequence[Node],
        inputs: Sequence[tuple[Value, View]],
        outputs: Sequence[tuple[Value, View]],
        plan: RowPlan,
        lowering: Lowering,
    ) -> None:
        self.reduction, self.before, self.after = reduction, before, after
        self.kernel = KernelBuilder("columns: " + "+".join(n.op for n in [*before, reduction, *after]))
        shape = plan.shape
        kept = [a for a in range(len(shape)) if a not in plan.axes]
        suffix = register_suffix(reduction.output.dtype)
        registers = {"f32": "float32", "f64": "float64"}
        self.dtype = registers.get(suffix, reduction.output.dtype)
        self.partial = lowering.scratch(self.dtype, tuple(1 if a in plan.axes else d for a, d in enumerate(shape)))
        views = [v.expanded(shape) for _, v in [*inputs, *outputs]] + [self.partial.expanded(shape)]
        self.kept, kept_strides = collapse([shape[a] for a in kept], [[v.strides[a] for a in kept] for v in views])
        self.rows, row_strides = collapse(
            [shape[a] for a in plan.axes], [[v.strides[a] for a in plan.axes] for v in views]
        )
        # The loops run over the kept outer dimensions, then the reduced ones, then the innermost kept one.
        strides = [k[:-1] + r + k[-1:] for k, r in zip(kept_strides, row_strides)]
        self.body = Body(self.kernel, (), len(self.kept) + len(self.rows))
        for (value, view), s in zip(inputs, strides):
            self.body.declare_input(value, view, s)
        for (value, view), s in zip(outputs, strides[len(inputs) :]):
            self.body.declare_output(value, view, s)
        self.acc = self.kernel.target("acc", self.partial)
        self.varies = plan.varies

    def write(self) -> Call:
        kernel = self.kernel
        inner, outer = self.kept[-1], self.kept[:-1]
        n = kernel.parameter("n", inner)
        blocks = kernel.parameter("blocks", -(-inner // BLOCK))
        sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(outer)]
        lengths = [kernel.parameter(f"n{i}", d) for i, d in enumerate(self.rows)]
        with kernel.block("for u in range(start, stop)"):
            kernel.line(f"r = u // {blocks}")
            kernel.line(f"first = (u - r * {blocks}) * {BLOCK}")
            kernel.line(f"last = min(first + {BLOCK}, {n})")
            kernel.line(f"a = r * {n}")
            indices = decode(kernel, "r", sizes) if sizes else {}
            self._start(lengths)
            self._accumulate(indices, lengths)
            self._finish(indices)
        total = math.prod(self.kept) * math.prod(self.rows)
        return kernel.call(math.prod(outer) * -(-inner // BLOCK), total * (0.1 + self.body.cost_of_point()))

    def _start(self, lengths: Sequence[str]) -> None:
        from .reduction import identity

        suffix = SUFFIX[self.dtype]
        start = self.body.terms.constant(identity(self.reduction), self.dtype)
        with self.kernel.block("for j in range(first, last)"):
            self.kernel.line(f"storerw_{suffix}(acc, a + j, {start})")

    def _accumulate(self, indices: dict[int, str], lengths: Sequence[str]) -> None:
        kernel, outer, suffix = self.kernel, len(self.kept) - 1, SUFFIX[self.dtype]
        combine = {"reduce_sum": "add", "reduce_product": "mul", "reduce_max": "max", "reduce_min": "min"}
        loops = {outer + i: f"k{i}" for i in range(len(lengths))}
        depth = kernel._depth
        for i, length in enumerate(lengths):
            kernel.line(f"for k{i} in range({length}):")
            kernel._depth += 1
        self.body.start_row({**indices, **loops})
        hoisted = self.body.hoist(len(self.kept) + len(self.rows) - 1)
        with kernel.block("for j in range(first, last)"):
            names = dict(hoisted)
            value = self._value(self.reduction.inputs[0], names)
            total = kernel.temporary("acc")
            kernel.line(f"{total} = loadrw_{suffix}(acc, a + j)")
            kernel.line(f"storerw_{suffix}(acc, a + j, {combine[self.reduction.op]}_{suffix}({total}, {value}))")
        kernel._depth = depth

    def _finish(self, indices: dict[int, str]) -> None:
        kernel, suffix = self.kernel, SUFFIX[self.dtype]
        rows = {len(self.kept) - 1 + i: "0" for i in range(len(self.rows))}
        self.body.start_row({**indices, **rows})
        with kernel.block("for j in range(first, last)"):
            total = kernel.temporary("acc")
            kernel.line(f"{total} = loadrw_{suffix}(acc, a + j)")
            narrow = {"float16": "round_f16", "bfloat16": "round_bf16"}.get(self.reduction.output.dtype)
            if narrow:
                kernel.line(f"{total} = {narrow}({total})")
            names = {self.reduction.output: total}
            for node in self.after:
                for operand in node.present:
                    self._value(operand, names)
                names[node.output] = self.body.compute(node, names)
            for value, access in self.body.outputs:
                self.body.store(access, access.index(-1, "j"), names[value])

    def _value(self, value: Value | None, names: dict[Value, str]) -> str:
        assert value is not None
        if value not in names:
            if value in self.body.inputs:
                access = self.body.inputs[value]
                names[value] = self.body.load(access, access.index(-1, "j"))
            else:
                node = next(n for n in [*self.before, *self.after] if n.output is value)
                for operand in node.present:
                    self._value(operand, names)
                names[value] = self.body.compute(node, names)
        return names[value]
