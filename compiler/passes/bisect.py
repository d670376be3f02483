"""Finds the pass, and the rewrite in it, after which a graph gives other results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..interpret import interpret
from ..ir import Constants, Graph
from ..pipeline import Stage, run_pipeline
from .context import Context, Debug

Arrays = Mapping[str, np.ndarray]
Evaluate = Callable[[Graph, Constants, Arrays], Arrays]

_TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


@dataclass(frozen=True, slots=True)
class Finding:
    """The first pass after which results differ, the rewrite that made them differ if it is known, and the graphs."""

    name: str
    rewrite: str | None
    before: Graph
    after: Graph
    output: str

    def __str__(self) -> str:
        by = f", by {self.rewrite}" if self.rewrite else ""
        return f"output {self.output} differs after pass {self.name}{by}"


def close(before: Arrays, after: Arrays) -> str | None:
    """The first output that differs by more than rounding, None if none does; NaN equals NaN."""
    for name, old in before.items():
        new = after.get(name)
        if new is None or new.shape != old.shape or new.dtype != old.dtype:
            return name
        tolerance = _TOLERANCES.get(old.dtype.name, 0.0)
        if tolerance:
            with np.errstate(all="ignore"):
                scale = float(np.abs(old[np.isfinite(old)]).max(initial=0.0))
                same = np.isclose(
                    old.astype(np.float64),
                    new.astype(np.float64),
                    rtol=tolerance,
                    atol=tolerance * scale,
                    equal_nan=True,
                )
        else:
            same = old == new
        if not np.all(same):
            return name
    return None


def bisect(
    graph: Graph,
    constants: Constants,
    feeds: Arrays,
    *,
    evaluate: Evaluate = interpret,
    differs: Callable[[Arrays, Arrays], str | None] = close,
) -> Finding | None:
    """The first pass of the pipeline that changes a graph's results; None if none does.

    Args:
        graph: a graph all of whose sizes are known.
        constants: the arrays beside it; passes add to them.
        feeds: an array for each input.
        evaluate: runs a graph; by default the operators' NumPy semantics.
        differs: names an output that differs between two runs.
    """
    expected = evaluate(graph, constants, feeds)

    def fault(candidate: Graph) -> str | None:
        return differs(expected, evaluate(candidate, constants, feeds))

    before, applied = graph, 0
    for stage in run_pipeline(graph, constants, record=True, debug=Debug()).stages:
        output = fault(stage.graph) if stage.graph is not before else None
        if output is not None:
            wrong = _first_wrong_rewrite(graph, constants, stage, applied, fault)
            return Finding(stage.name, wrong, before, stage.graph, output)
        before = stage.graph
        applied += len(stage.rewrites)
    return None


def _first_wrong_rewrite(
    graph: Graph, constants: Constants, stage: Stage, applied: int, fault: Callable[[Graph], str | None]
) -> str | None:
    """The rewrite of a stage that made results differ, found by halving how many of them may apply."""
    low, high = 0, len(stage.rewrites)
    while low < high:
        middle = (low + high) // 2
        context = Context(constants, limit=applied + middle)
        result = run_pipeline(graph, constants, until=stage.name, debug=Debug(), context=context)
        low, high = (low, middle) if fault(result.graph) else (middle + 1, high)
    return stage.rewrites[low - 1] if low else None
