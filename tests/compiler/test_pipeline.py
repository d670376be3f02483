"""The pipeline: its order, what it runs, records and prints, and how it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from basalt.compiler import pipeline
from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Graph
from basalt.compiler.passes.context import Context, Debug
from basalt.compiler.pipeline import (
    PASSES,
    Pass,
    PassError,
    check_order,
    graph_after,
    lowered_graph,
    run_pipeline,
)
from basalt.compiler.text import print_graph
from basalt.errors import InvalidStateError, ValidationError
from basalt.ops import symbol

from .making import Maker


def _model() -> tuple[Graph, Maker]:
    m = Maker()
    x = m.input("x", "float32", (2, 3))
    y = m.softmax(m.identity(m.add(x, m.constant(0.0), label="shift")), 1, label="attention")
    return m.graph(y=y), m


def _same(graph: Graph, context: Context) -> Graph:
    return graph


def test_the_order_holds() -> None:
    check_order(PASSES)
    assert all(p.why and p.name.isidentifier() for p in PASSES)


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ([Pass("a", _same, "w", ("b",)), Pass("b", _same, "w")], "a must come after b, but stands before it"),
        ([Pass("a", _same, "w", ("c",))], r"a must come after 'c', which is no pass; passes are \['a'\]"),
        ([Pass("a", _same, "w", ("a",))], "a must come after a, but stands before it"),
        ([Pass("a", _same, "w"), Pass("a", _same, "w")], "two passes are called a"),
    ],
)
def test_wrong_orders_are_refused(passes: list[Pass], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_order(passes)


@pytest.mark.parametrize("each", PASSES, ids=lambda p: p.name)
def test_a_pass_moved_before_what_it_follows_is_refused(each: Pass) -> None:
    if each.after:
        with pytest.raises(ValueError, match=f"{each.name} must come after"):
            check_order([each, *(p for p in PASSES if p is not each)])


def test_recorded_graphs() -> None:
    graph, m = _model()
    result = run_pipeline(graph, m.constants, record=True)
    assert [s.name for s in result.stages] == [p.name for p in PASSES]
    assert "softmax" in print_graph(result.after("simplify")) and "identity" not in print_graph(
        result.after("simplify")
    )
    assert "softmax" not in print_graph(result.after("canonicalise"))
    assert result.stages[-1].graph is result.graph
    assert sum(len(s.rewrites) for s in result.stages) >= 2
    with pytest.raises(ValidationError, match="no graph is recorded after 'nonsense'; recorded are"):
        result.after("nonsense")
    assert run_pipeline(graph, m.constants).stages == ()


def test_until_and_skip() -> None:
    graph, m = _model()
    result = run_pipeline(graph, m.constants, until="canonicalise", skip=["simplify"], record=True)
    names = [p.name for p in PASSES]
    before = names[: names.index("canonicalise") + 1]
    assert [s.name for s in result.stages] == [name for name in before if name != "simplify"]
    assert "identity" in print_graph(result.graph)
    for wrong in ({"until": "nonsense"}, {"skip": ["nonsense"]}):
        with pytest.raises(ValidationError, match="there is no pass 'nonsense'; passes are"):
            run_pipeline(graph, m.constants, **wrong)  # type: ignore[arg-type]


def test_graph_after_and_lowered_graph() -> None:
    graph, m = _model()
    assert print_graph(graph_after(graph, m.constants, "simplify")) == print_graph(
        run_pipeline(graph, m.constants, until="simplify").graph
    )
    assert print_graph(graph_after(graph, m.constants, "all")) == print_graph(lowered_graph(graph, m.constants))
    with pytest.raises(ValidationError, match="there is no pass"):
        graph_after(graph, m.constants, "nonsense")
    plain = lowered_graph(graph, m.constants, optimise=False)
    expected = ["add", "identity", "reduce_max", "sub", "exp", "reduce_sum", "reciprocal", "mul"]
    assert [n.op for n in plain.nodes] == expected


def test_the_given_graph_stays_and_results_do_too() -> None:
    graph, m = _model()
    before = print_graph(graph, m.constants)
    feeds = {"x": np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)}
    expected = interpret(graph, m.constants, feeds)["y"]
    final = lowered_graph(graph, m.constants)
    assert print_graph(graph, m.constants) == before
    np.testing.assert_allclose(interpret(final, m.constants, feeds)["y"], expected, rtol=1e-6)


def test_symbolic_graphs_are_refused() -> None:
    m = Maker()
    graph = m.graph(y=m.relu(m.input("x", "float32", (symbol("n"), symbol("m")))))
    with pytest.raises(InvalidStateError, match=r"the graph's sizes \['m', 'n'\] are not known; specialise it first"):
        run_pipeline(graph, m.constants)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A pipeline whose simplify loses the graph's last node."""

    def lose(graph: Graph, context: Context) -> Graph:
        return graph.with_nodes(graph.nodes[:-1])

    passes = tuple(replace(p, function=lose) if p.name == "simplify" else p for p in PASSES)
    monkeypatch.setattr(pipeline, "PASSES", passes)
    yield


@pytest.mark.usefixtures("broken")
def test_the_verifier_names_the_pass() -> None:
    graph, m = _model()
    with pytest.raises(PassError, match="after simplify, the graph is not valid") as caught:
        run_pipeline(graph, m.constants, debug=Debug(verify=True))
    assert "output y is" in str(caught.value)
    run_pipeline(graph, m.constants, until="simplify", debug=Debug(verify=False))


@pytest.mark.usefixtures("broken")
def test_debug_variable_turns_the_verifier_on(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, m = _model()
    monkeypatch.setenv("BASALT_DEBUG", "passes,verify")
    with pytest.raises(PassError, match="after simplify"):
        run_pipeline(graph, m.constants)
    monkeypatch.setenv("BASALT_DEBUG", "")
    run_pipeline(graph, m.constants, until="simplify")


def test_errors_name_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(graph: Graph, context: Context) -> Graph:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(pipeline, "PASSES", (Pass("fails", fail, "for this test"),))
    graph, m = _model()
    with pytest.raises(PassError, match="pass fails failed: on purpose") as caught:
        run_pipeline(graph, m.constants)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_debug_output(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    graph, m = _model()
    monkeypatch.setenv("BASALT_DEBUG", "passes")
    run_pipeline(graph, m.constants)
    shown = capsys.readouterr()
    assert shown.out == ""
    blocks = shown.err.split("\n--- ")
    assert [b.removeprefix("--- ").partition(":")[0] for b in blocks] == [p.name for p in PASSES]
    simplify = next(b for b in blocks if b.startswith("simplify:"))
    lines = simplify.splitlines()
    assert lines[0].startswith("simplify: 2 nodes (-1), ") and lines[0].endswith(" ms")
    assert "-  %v3 = identity(%v2): float32[2, 3]" in lines
    assert (
        "  near miss: add_zero does not apply to <add 'shift': float32[2, 3]>: "
        "the float constant is 0, which turns -0 into 0" in lines
    )
    infer = blocks[0].splitlines()
    assert len(infer) == 1 and "3 nodes (+0)" in infer[0]


def test_nothing_is_printed_otherwise(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASALT_DEBUG", "")
    graph, m = _model()
    run_pipeline(graph, m.constants)
    assert capsys.readouterr() == ("", "")


def test_time_is_linear_in_the_number_of_nodes() -> None:
    """Counted in calls rather than in seconds: twice the nodes, twice the work."""
    import sys

    def calls(count: int) -> int:
        m = Maker()
        y = m.input("x", "float32", (2, 4))
        for i in range(count):
            y = m.softmax(m.transpose(m.transpose(m.add(y, m.constant(float(i))))), 1)
        graph = m.graph(y=y)
        counted = 0

        def count_call(frame: object, event: str, argument: object) -> None:
            nonlocal counted
            counted += event == "call"

        sys.setprofile(count_call)
        try:
            run_pipeline(graph, m.constants, until="separate_outputs", debug=Debug())
        finally:
            sys.setprofile(None)
        return counted

    calls(2)
    small, large = calls(40), calls(160)
    assert large < 4.4 * small
