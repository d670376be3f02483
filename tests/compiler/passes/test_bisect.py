"""Finding the pass and the rewrite that change results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from basalt.compiler import pipeline
from basalt.compiler.ir import Graph, Value
from basalt.compiler.passes import bisect as module
from basalt.compiler.passes import simplify
from basalt.compiler.passes.bisect import bisect, close
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.emitter import Emitter
from basalt.compiler.passes.patterns import Match, op
from basalt.compiler.passes.rewriting import apply_rewrites, index, rewrite
from basalt.compiler.pipeline import PASSES

from ..making import Maker


@rewrite(op("floor", "x"))
def floor_to_ceil(m: Match, e: Emitter) -> Value:
    """Wrong on purpose."""
    return e.emit("ceil", m["x"])


def _wrong_simplify(graph: Graph, context: Context) -> Graph:
    return apply_rewrites(graph, context, index([*simplify.REWRITES, floor_to_ceil]), "simplify")


def _model() -> tuple[Graph, Maker]:
    m = Maker()
    x = m.input("x", "float32", (4,))
    y = m.mul(m.neg(m.neg(x)), m.add(m.constant(1.0), m.constant(0.0)))
    z = m.abs(m.abs(m.floor(m.identity(y), label="rounding")))
    return m.graph(a=m.relu(y), b=m.relu(m.relu(z))), m


FEEDS = {"x": np.array([-1.5, 0.5, 2.5, 3.0], np.float32)}


def test_a_right_pipeline_has_no_finding() -> None:
    graph, m = _model()
    assert bisect(graph, m.constants, FEEDS) is None


def test_the_wrong_rewrite_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = tuple(replace(p, function=_wrong_simplify) if p.name == "simplify" else p for p in PASSES)
    monkeypatch.setattr(pipeline, "PASSES", passes)
    graph, m = _model()
    finding = bisect(graph, m.constants, FEEDS)
    assert finding is not None
    assert (finding.name, finding.output) == ("simplify", "b")
    assert finding.rewrite == "floor_to_ceil at <floor 'rounding': float32[4]>"
    assert str(finding) == ("output b differs after pass simplify, by floor_to_ceil at <floor 'rounding': float32[4]>")
    assert "floor" in {n.op for n in finding.before.nodes} and "floor" not in {n.op for n in finding.after.nodes}


def test_a_pass_without_rewrites_is_named_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def swap(graph: Graph, context: Context) -> Graph:
        (first, a), (second, b) = graph.outputs
        return graph.with_nodes(graph.nodes, [(first, b), (second, a)])

    monkeypatch.setattr(
        pipeline, "PASSES", tuple(replace(p, function=swap) if p.name == "dead_code" else p for p in PASSES)
    )
    graph, m = _model()
    finding = bisect(graph, m.constants, FEEDS)
    assert finding is not None and finding.rewrite is None
    assert str(finding) == "output a differs after pass dead_code"


def test_another_evaluation_may_be_given() -> None:
    graph, m = _model()
    seen = []

    def evaluate(graph: Graph, *args: object) -> dict[str, np.ndarray]:
        seen.append(len(graph.nodes))
        return {"a": np.zeros(1)}

    assert bisect(graph, m.constants, FEEDS, evaluate=evaluate) is None
    assert len(seen) >= 3
    assert bisect(graph, m.constants, FEEDS, evaluate=evaluate, differs=lambda a, b: "a") is not None


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (np.float32([1, 2]), np.float32([1, 2.0001]), True),
        (np.float32([1, 2]), np.float32([1, 2.1]), False),
        (np.float32([np.nan, np.inf, 0.0]), np.float32([np.nan, np.inf, -0.0]), True),
        (np.float32([np.inf]), np.float32([-np.inf]), False),
        (np.float32([np.nan]), np.float32([1]), False),
        (np.float16([1]), np.float16([1.005]), True),
        (np.int32([1]), np.int32([2]), False),
        (np.int32([1]), np.int64([1]), False),
        (np.float32([1]), np.float32([[1]]), False),
    ],
)
def test_close(old: np.ndarray, new: np.ndarray, same: bool) -> None:
    assert close({"y": old}, {"y": new}) == (None if same else "y")
    assert close({"y": old}, {}) == "y"
    assert module.close is close
