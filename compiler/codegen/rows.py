"""Analysis of row kernels: which values vary along a row, and in which pass over the row each can be computed.

A row group holds reductions over one set of axes and element-wise operators around them (softmax, layer normalisation,
a plain sum). Its kernel walks each row once a stage: stage 0 feeds the first reductions, the next stage may use their
results, and the last one computes what is stored for every element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ir import Node, Value
from .body import _HEAVY

REDUCTIONS = ("reduce_sum", "reduce_product", "reduce_max", "reduce_min")
"""The primitive reductions that the code generator knows; all others are written with them."""


@dataclass
class RowPlan:
    """The stages of a row group."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    """The shape of the reductions' operands."""
    stages: list[list[Node]]
    """The reductions fed by each pass over the row."""
    stage_of: dict[Value, int]
    """The first pass in which a value is available: for a reduction's result, the one after it is fed."""
    varies: dict[Value, bool]
    """Whether a value varies along the row."""
    spilled: dict[Value, Value] = field(default_factory=dict)
    """Costly values kept in the memory of a result until the last pass, instead of being computed again."""


def plan_rows(nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value]) -> RowPlan:
    """The plan of a row group.

    Args:
        nodes: reductions (with kept dimensions, over one set of axes) and element-wise operators, in order.
        inputs: the values they read.
        outputs: the values that are stored.
    """
    first = next(n for n in nodes if n.op in REDUCTIONS)
    axes, shape = tuple(first.attrs["axes"]), first.inputs[0].shape  # type: ignore[union-attr]
    varies = {v: _varies(v, axes, len(shape)) for v in inputs}
    stage_of = dict.fromkeys(inputs, 0)
    stages: list[list[Node]] = []
    for node in nodes:
        stage = max((stage_of[v] for v in node.present), default=0)
        if node.op in REDUCTIONS:
            while len(stages) <= stage:
                stages.append([])
            stages[stage].append(node)
            stage_of[node.output], varies[node.output] = stage + 1, False
        else:
            stage_of[node.output], varies[node.output] = stage, any(varies[v] for v in node.present)
    plan = RowPlan(axes, shape, stages, stage_of, varies)
    plan.spilled = _spills(plan, nodes, outputs)
    return plan


def _varies(value: Value, axes: Sequence[int], rank: int) -> bool:
    """Whether a value has more than one element along the row (its shape is aligned to the right)."""
    skipped = rank - len(value.shape)
    return any(a >= skipped and value.shape[a - skipped] != 1 for a in axes)


def _spills(plan: RowPlan, nodes: Sequence[Node], outputs: Sequence[Value]) -> dict[Value, Value]:
    """A costly value of an early stage that the last stage needs again goes to a result's memory."""
    rows = [v for v in outputs if plan.varies[v]]
    last = len(plan.stages)
    for node in nodes:
        value = node.output
        if node.op not in _HEAVY or not plan.varies[value] or plan.stage_of[value] >= last:
            continue
        early = any(_reaches(value, n.inputs[0], nodes) for n in plan.stages[plan.stage_of[value]])
        for place in rows:
            if early and place is not value and place.type == value.type and _reaches(value, place, nodes):
                return {value: place}
    return {}


def _reaches(source: Value, target: Value | None, nodes: Sequence[Node]) -> bool:
    """Whether ``target`` is computed from ``source``."""
    reached = {source}
    for node in nodes:
        if any(v in reached for v in node.present):
            reached.update(node.outputs)
    return target in reached
