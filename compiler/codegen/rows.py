"""Row groups: reductions over one set of axes and the element-wise operators before, between and after them.

A softmax, a layer normalisation or a plain sum is such a group. What it computes for one place of the kept dimensions
is a row. Its kernel walks each row once a stage: stage 0 feeds the first reductions, the next stage may use their
results, and the last pass computes what is stored for every element.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..ir import Node, Value
from ..views import View, collapse, memory_order
from .body import HEAVY

REDUCTIONS = ("reduce_sum", "reduce_product", "reduce_max", "reduce_min")
"""The primitive reductions that the code generator knows; all others are written with them."""

Placed = tuple[Value, View]


@dataclass
class RowPlan:
    """What is computed in which pass."""

    stages: list[list[Node]]
    """The reductions fed by each pass over the row."""
    stage_of: dict[Value, int]
    """The first pass in which a value is available: for a reduction's result, the one after it is fed."""
    varies: dict[Value, bool]
    """Whether a value varies along the row."""
    spilled: dict[Value, Value] = field(default_factory=dict)
    """Costly values kept in the memory of a result until the last pass, instead of being computed again."""


@dataclass(frozen=True)
class RowGroup:
    """A row group over a space whose first dimensions are kept and whose last ones are reduced.

    Every view has the shape of the whole space: a stride of 0 where one number serves many elements.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Placed, ...]
    outputs: tuple[Placed, ...]
    kept: tuple[int, ...]
    reduced: tuple[int, ...]

    @staticmethod
    def of(
        nodes: Sequence[Node],
        inputs: Sequence[Placed],
        outputs: Sequence[Placed],
        shape: Sequence[int],
        axes: Collection[int],
    ) -> RowGroup:
        """The group of nodes over a shape of which some axes are reduced.

        Each kind of dimensions is put into memory order and merged as far as all views allow.
        """
        views = [v.expanded(shape) for _, v in (*inputs, *outputs)]
        sides = []
        for side in ([a for a in range(len(shape)) if a not in axes], sorted(axes)):
            sizes, strides = [shape[a] for a in side], [[v.strides[a] for a in side] for v in views]
            order = memory_order(sizes, strides)
            sides.append(collapse([sizes[a] for a in order], [[s[a] for a in order] for s in strides]))
        (kept, kept_strides), (reduced, reduced_strides) = sides
        seen = [
            replace(v, shape=(*kept, *reduced), strides=(*k, *r))
            for v, k, r in zip(views, kept_strides, reduced_strides)
        ]
        placed = [(value, view) for (value, _), view in zip((*inputs, *outputs), seen)]
        return RowGroup(tuple(nodes), tuple(placed[: len(inputs)]), tuple(placed[len(inputs) :]), kept, reduced)

    @property
    def rows(self) -> int:
        return math.prod(self.kept)

    @property
    def length(self) -> int:
        """The elements of a row."""
        return math.prod(self.reduced)

    def along(self, view: View) -> bool:
        """Whether a view has more than one element along the row."""
        return any(self.row_strides(view))

    def row_strides(self, view: View) -> tuple[int, ...]:
        return view.strides[len(self.kept) :]

    def row_outputs(self) -> list[Placed]:
        """The results that have an element for each of the row's."""
        return [(value, view) for value, view in self.outputs if self.along(view)]

    @property
    def lead(self) -> View | None:
        """The operand whose layout decides how to walk: the first that varies along the row, and between neighbours too
        if there is such a one.
        """
        varying = [view for _, view in self.inputs if self.along(view)]
        beside = len(self.kept) - 1
        return next((view for view in varying if beside >= 0 and view.strides[beside]), varying[0] if varying else None)

    @cached_property
    def plan(self) -> RowPlan:
        varies = {value: self.along(view) for value, view in self.inputs}
        stage_of = dict.fromkeys(varies, 0)
        stages: list[list[Node]] = []
        for node in self.nodes:
            stage = max((stage_of[v] for v in node.present), default=0)
            if node.op in REDUCTIONS:
                while len(stages) <= stage:
                    stages.append([])
                stages[stage].append(node)
                stage_of[node.output], varies[node.output] = stage + 1, False
            else:
                stage_of[node.output], varies[node.output] = stage, any(varies[v] for v in node.present)
        plan = RowPlan(stages, stage_of, varies)
        plan.spilled = self._spills(plan)
        return plan

    def _spills(self, plan: RowPlan) -> dict[Value, Value]:
        """A costly value of an early stage that the last pass needs again goes to a result's memory."""
        rows, last = [v for v, _ in self.row_outputs()], len(plan.stages)
        for node in self.nodes:
            value = node.output
            if node.op not in HEAVY or not plan.varies[value] or plan.stage_of[value] >= last:
                continue
            early = any(_reaches(value, n.inputs[0], self.nodes) for n in plan.stages[plan.stage_of[value]])
            for place in rows:
                if early and place is not value and place.type == value.type and _reaches(value, place, self.nodes):
                    return {value: place}
        return {}


def nodes_for(nodes: Sequence[Node], wanted: Collection[Value | None], known: Collection[Value]) -> list[Node]:
    """The nodes that compute some values from others, in order."""
    missing = {v for v in wanted if v is not None} - set(known)
    chosen: list[Node] = []
    for node in reversed(nodes):
        if node.output in missing:
            chosen.append(node)
            missing |= {v for v in node.present if v not in known}
    return chosen[::-1]


def _reaches(source: Value, target: Value | None, nodes: Sequence[Node]) -> bool:
    """Whether ``target`` is computed from ``source``."""
    reached = {source}
    for node in nodes:
        if any(v in reached for v in node.present):
            reached.update(node.outputs)
    return target in reached
