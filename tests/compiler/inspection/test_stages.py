"""What is recorded of the passes agrees with what they do."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import basalt
from basalt.compiler.explain import explain
from basalt.compiler.inspection.provenance import named, numbered
from basalt.compiler.inspection.records import LONGEST, Records, text_of
from basalt.compiler.inspection.region import record
from basalt.compiler.ir import FUSED, Constants, Graph
from basalt.compiler.lower import compile_spec
from basalt.compiler.pipeline import PASSES, run_pipeline
from basalt.compiler.text import print_graph

from ..graphs import random_graph

seeds = st.integers(0, 2**32 - 1)


def labelled(graph: Graph, seed: int) -> Graph:
    """The graph with labels that are missing, odd, or not distinct."""
    random = Random(seed)
    names = ("", "a", "b", "7", "<i>")
    return graph.with_nodes(replace(n, label=random.choice((*names, f"n{i}"))) for i, n in enumerate(graph.nodes))


def sample(seed: int) -> tuple[Graph, Constants]:
    found = random_graph(seed)
    return labelled(found.graph, seed), found.constants


def recorded(graph: Graph, constants: Constants) -> dict[str, Any]:
    return record(graph, constants, {})[0]


def nodes_after(region: dict[str, Any], stage: int) -> list[int]:
    return next(s["nodes"] for s in reversed(region["stages"][: stage + 1]) if "nodes" in s)  # type: ignore[no-any-return]


@given(seeds)
@settings(max_examples=8)
def test_each_stage_is_the_graph_after_the_pass(seed: int) -> None:
    graph, constants = sample(seed)
    region = recorded(graph, constants)
    store = constants.copy()
    graphs = [graph, *(stage.graph for stage in run_pipeline(graph, store, record=True).stages)]
    assert [stage["name"] for stage in region["stages"]] == ["as built", *(each.name for each in PASSES)]
    for k, expected in enumerate(graphs):
        nodes = [region["nodes"][n] for n in nodes_after(region, k)]
        assert [n["op"] for n in nodes] == [n.op for n in expected.nodes]
        for entry, node in zip(nodes, expected.nodes):
            assert set(entry.get("labels", ())) == set(node.labels())
            for numbers, values in ((entry["in"], node.inputs), (entry["out"], node.outputs)):
                for number, value in zip(numbers, values, strict=True):
                    assert (number is None) == (value is None)
                    if value is not None:
                        shown = region["values"][number]
                        assert (shown["type"], tuple(shown["shape"])) == (value.dtype, tuple(value.shape))
        outputs = region["stages"][k]["outputs"]
        assert [name for name, _ in outputs] == [name for name, _ in expected.outputs]
        assert [region["values"][v]["type"] for _, v in outputs] == [v.dtype for _, v in expected.outputs]


@given(seeds)
@settings(max_examples=8)
def test_what_a_pass_did_leads_from_one_graph_to_the_next(seed: int) -> None:
    region = recorded(*sample(seed))
    for k, stage in enumerate(region["stages"][1:], 1):
        before, after = nodes_after(region, k - 1), nodes_after(region, k)
        old, new = [pair[0] for pair in stage["changed"]], [pair[1] for pair in stage["changed"]]
        assert sorted([*stage["removed"], *old]) == sorted(set(before) - set(after))
        assert sorted([*stage["added"], *new]) == sorted(set(after) - set(before))
        if "nodes" not in stage:
            assert not (stage["added"] or stage["removed"] or stage["changed"])
        for gone, into in stage["became"]:
            assert gone in stage["removed"] and set(into) <= {*stage["added"], *new}


@given(seeds)
@settings(max_examples=8)
def test_fused_nodes_hold_the_nodes_of_the_graph_before(seed: int) -> None:
    graph, constants = sample(seed)
    region = recorded(graph, constants)
    before = nodes_after(region, len(PASSES) - 1)
    inside = [n for f in nodes_after(region, len(PASSES)) for n in region["nodes"][f].get("body", ())]
    assert len(inside) == len(set(inside))
    assert set(inside) == set(region["stages"][-1]["removed"]) <= set(before)
    final = run_pipeline(graph, constants.copy()).graph
    bodies = [[n.op for n in node.body.nodes] for node in final.nodes if node.op == FUSED]
    entries = [region["nodes"][f] for f in nodes_after(region, len(PASSES))]
    assert [[region["nodes"][n]["op"] for n in e["body"]] for e in entries if e["op"] == FUSED] == bodies
    for gone, into in region["stages"][-1]["became"]:
        assert any(gone in region["nodes"][n]["body"] for n in into)


@given(seeds)
@settings(max_examples=8)
def test_numbering_changes_no_graph_and_no_program(seed: int) -> None:
    graph, constants = sample(seed)
    store = constants.copy()
    labels = [node.label for node in graph.nodes]
    traced = named(run_pipeline(numbered(graph), store).graph, labels)
    plain = run_pipeline(graph, constants.copy()).graph
    strip = lambda text: [line.partition(' "')[0] for line in text.splitlines()]  # noqa: E731
    assert strip(print_graph(traced, store)) == strip(print_graph(plain, store))
    region, spec = record(graph, constants, {})
    expected = compile_spec(graph, constants.copy())
    assert [k.key for k in spec.kernels] == [k.key for k in expected.kernels]
    assert [replace(row, label="") for row in spec.rows] == [replace(row, label="") for row in expected.rows]
    assert spec.arena_bytes == expected.arena_bytes == region["memory"]["arena"]
    for row, other in zip(region["rows"], explain(expected)):
        assert set(row["label"].split(", ")) == set(other.labels.split(", "))


def test_what_became_of_nodes_without_labels_is_known_too() -> None:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", (3, 4))
    y = b.relu(b.matmul(x, b.constant(np.ones((4, 5), np.float32))))
    graph = b.build({"y": b.identity(b.mul(y, y))})
    region = recorded(graph.graph, graph.constants)
    entries = [region["nodes"][n] for n in nodes_after(region, len(PASSES))]
    assert sorted(user for entry in entries for user in entry["users"]) == [0, 1, 2]
    assert [region["nodes"][n]["op"] for n in nodes_after(region, 0)] == ["matmul", "relu", "mul", "identity"]
    rows = [row for row in region["rows"] if region["nodes"][row["node"]].get("body")]
    assert rows and "labels" not in region["nodes"][rows[0]["node"]]


def test_equal_labels_stay_apart() -> None:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", (3,))
    graph = b.build({"y": b.exp(x, label="same"), "z": b.sin(x, label="same")})
    region = recorded(graph.graph, graph.constants)
    entries = [region["nodes"][n] for n in nodes_after(region, 0)]
    assert [(e["op"], e["labels"], e["users"]) for e in entries] == [("exp", ["same"], [0]), ("sin", ["same"], [1])]


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (np.float32(0.25), "0.25"),
        (np.zeros((0, 3), np.int64), ""),
        (np.arange(3), "0, 1, 2"),
        (np.arange(100, dtype=np.float32).reshape(10, 10), "0, 1, 2, 3, 4, 5, 6, 7, …"),
        (np.array([np.nan, -np.inf, 1e30], np.float32), "nan, -inf, 1e+30"),
        (np.array([1, 0], np.uint8), "1, 0"),
    ],
)
def test_constants_show_their_first_elements(array: np.ndarray, shown: str) -> None:
    constants = Constants()
    array = np.asarray(array)
    records = Records(constants, ())
    entry = records.values[records.value(constants.add(array, "k"))]
    assert entry.pop("data") == shown
    assert entry == {"type": array.dtype.name, "shape": list(array.shape), "name": "k", "constant": 0}


def test_long_attributes_are_cut() -> None:
    text = text_of(tuple(range(10_000)))
    assert len(text) < LONGEST + 40 and text.startswith("[0, 1, 2") and text.endswith("characters)")
    assert text_of((1.5, (2, None), "same")) == "[1.5, [2, None], same]"
