"""``bslc compare``, end to end and within one process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.cli.compare.command import PEER_NAMES
from basalt.cli.compare.comparison import Comparison
from basalt.cli.compare.differences import Limits
from basalt.cli.compare.engines import PEERS
from basalt.cli.compare.pairing import pair
from basalt.cli.compare.sources import GraphSource, OnnxSource
from basalt.serialization.onnx import OnnxModel

from ...compiler.onnx.making import model, node, value
from ..conftest import Bslc

THOUSANDTH = Limits(1e-3)


def network(target: Path, weight: float = 1.0, first: str = "dense", size: Any = "n") -> Path:
    """``y = tanh(relu(x w) v)`` for x [n, 4], with ``weight`` in the middle of v."""
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", (size, 4))
    w = b.constant(np.ones((4, 8), np.float32))
    v = np.full((8, 2), 0.01, np.float32)
    v[4] *= weight
    hidden = b.relu(b.matmul(x, w, label=first), label="act")
    basalt.save(b.build({"y": b.tanh(b.matmul(hidden, b.constant(v), label="head"), label="out")}), target)
    return target


def onnx_network(target: Path, steps: bool = False) -> Path:
    """A model that is one program, or one with a NonZero in it."""
    nodes = [node("MatMul", "x w", "m", name="dense"), node("Relu", "m", "r", name="act")]
    nodes += [node("NonZero", "r", "z", name="find"), node("Cast", "z", "y", name="cast", to=1)] if steps else []
    nodes += [] if steps else [node("Add", "r one", "y", name="add")]
    weights = {"w": np.ones((3, 2), np.float32), **({} if steps else {"one": np.float32(1)})}
    model(nodes, [value("x", shape=("n", 3))], [value("y", shape=(None, None))], weights).save(target)
    return target


def test_a_model_agrees_with_its_peers(bslc: Bslc, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    whole, steps = onnx_network(tmp_path / "a.onnx"), onnx_network(tmp_path / "steps.onnx", steps=True)
    for path in (whole, steps, network(tmp_path / "a.bsl")):
        for peer in PEERS:
            done = bslc("compare", path, peer, "--dim", "n=5", "--json")
            assert done.status == 0, done.out + done.err
            report = json.loads(done.out)
            assert report["agree"] is True and report["first_difference"] is None
            assert [entry["name"] for entry in report["outputs"]] == ["y"]
            assert report["outputs"][0]["verdict"] in ("equal", "close")


def test_two_models_that_agree(bslc: Bslc, tmp_path: Path) -> None:
    first, second = network(tmp_path / "a.bsl"), tmp_path / "b.onnx"
    basalt.save_onnx(basalt.load(first), second)
    np.save(tmp_path / "x.npy", np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    done = bslc("compare", first, second, "--input", "x.npy")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0].split()[:4] == ["output", "data", "type", "shape"]
    assert done.out.endswith("1 output agrees within 0.001 of an output's scale\n")


def test_the_first_node_that_differs_and_the_constant_that_is_another(bslc: Bslc, tmp_path: Path) -> None:
    first, second = network(tmp_path / "a.bsl"), network(tmp_path / "b.bsl", weight=3)
    done = bslc("compare", first, second, "--dim", "n=2")
    assert (done.status, done.err) == (1, "")
    lines = done.out.splitlines()
    assert "1 of 1 output differs beyond" in done.out
    assert "first node that differs: matmul 'head', node 3 of 4" in lines
    assert "nodes are paired: both graphs hold the same nodes in the same order" in lines
    assert any(line.startswith("  input 0, a result") and line.endswith("float32 2x8, equal") for line in lines)
    assert any(line.startswith("  input 1, a constant") and "2 of 16 elements beyond" in line for line in lines)
    report = json.loads(bslc("compare", first, second, "--dim", "n=2", "--json").out)
    found = report["first_difference"]
    assert found["exact"] and found["all_observed"] and found["last_that_agrees"]["label"] == "act"
    assert found["node"]["label"] == "head" and found["node"]["index"] == 2
    assert [entry["verdict"] for entry in found["node"]["inputs"]] == ["equal", "differs"]
    assert found["node"]["results"][0]["beyond"] == 4


def test_the_tolerance_decides(bslc: Bslc, tmp_path: Path) -> None:
    first, second = network(tmp_path / "a.bsl"), network(tmp_path / "b.bsl", weight=1.001)
    assert bslc("compare", first, second).status == 0
    assert bslc("compare", first, second, "--tolerance", "1e-7").status == 1
    assert bslc("compare", first, second, "--rtol", "1e-7").status == 1
    assert bslc("compare", first, second, "--tolerance", "0", "--atol", "1").status == 0


def test_nodes_are_paired_by_names_where_the_graphs_differ(bslc: Bslc, tmp_path: Path) -> None:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", ("n", 4))
    hidden = b.relu(b.matmul(b.identity(x), b.constant(np.ones((4, 8), np.float32)), label="dense"), label="act")
    head = b.matmul(hidden, b.constant(np.full((8, 2), 0.02, np.float32)), label="head")
    basalt.save(b.build({"y": b.tanh(head, label="out")}), tmp_path / "b.bsl")
    done = bslc("compare", network(tmp_path / "a.bsl"), "b.bsl")
    assert done.status == 1
    assert "first node that differs: matmul 'head', node 3 of 4\n" in done.out
    assert "nodes are paired: by operator and name, which 4 of 4 nodes share\n" in done.out


def test_nothing_in_common_is_told(bslc: Bslc, tmp_path: Path) -> None:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", ("n", 4))
    basalt.save(b.build({"y": b.reduce_sum(x, axes=[1], keep_dimensions=True)}), tmp_path / "b.bsl")
    done = bslc("compare", network(tmp_path / "a.bsl"), "b.bsl")
    assert done.status == 1
    assert " other shape\n" in done.out and "1x2, not 1x1" in done.out
    assert "is not known: the models have no nodes of the same operator and name" in done.out


def test_sizes_that_the_second_model_fixes_need_not_be_given(bslc: Bslc, tmp_path: Path) -> None:
    first, second = network(tmp_path / "a.bsl"), network(tmp_path / "b.bsl", size=7)
    done = bslc("compare", first, second, "--json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["shapes"] == {"x": [7, 4]}
    assert "expected float32[7, 4]" in bslc("compare", first, second, "--dim", "n=2").err


def test_models_that_cannot_be_compared(bslc: Bslc, models: Mapping[str, Path], tmp_path: Path) -> None:
    first = network(tmp_path / "a.bsl")
    done = bslc("compare", first, models["pair"])
    assert (done.status, done.out) == (1, "")
    assert done.err == f"error: the inputs differ: {first} has x; {models['pair']} has a, k\n"
    wide = basalt.MLGraphBuilder(basalt.MLContext())
    basalt.save(wide.build({"y": wide.relu(wide.input("x", "float32", (1, 5)))}), tmp_path / "wide.bsl")
    done = bslc("compare", first, "wide.bsl")
    assert done.err == f"error: input 'x' is float32[n, 4] in {first}, but float32[1, 5] in wide.bsl\n"
    other = basalt.MLGraphBuilder(basalt.MLContext())
    basalt.save(other.build({"z": other.relu(other.input("x", "float32", ("n", 4)))}), tmp_path / "other.bsl")
    done = bslc("compare", first, "other.bsl")
    assert done.err == f"error: the outputs differ: {first} has y; other.bsl has z\n"
    done = bslc("compare", first, "nobody")
    assert done.status == 2 and "'nobody' does not exist" in done.err
    assert bslc("compare", first).status == 2


def test_models_that_were_compiled_ahead(tmp_path: Path) -> None:
    """Machine code from a file against the model that it was made of, and against another."""
    path = network(tmp_path / "a.bsl")
    basalt.save_program(basalt.load(path), tmp_path / "program.bsl", {"x": (5, 4)}, source=False)
    for first, second in ((path, tmp_path / "program.bsl"), (tmp_path / "program.bsl", path)):
        comparison = Comparison(first, second, THOUSANDTH, trust=True)
        comparison.feed([], [], [], 0)
        comparison.run()
        assert comparison.agrees and comparison.sizes.shapes == {"x": (5, 4)}
    comparison = Comparison(tmp_path / "program.bsl", network(tmp_path / "b.bsl", weight=3), THOUSANDTH, trust=True)
    comparison.feed([], [], [], 0)
    comparison.run()
    assert not comparison.agrees
    assert comparison.locate().why == f"the machine code in {tmp_path / 'program.bsl'} does not show its nodes"


def test_the_peers_on_the_command_line_exist() -> None:
    assert sorted(PEERS) == sorted(PEER_NAMES)


@pytest.mark.parametrize("peer", PEER_NAMES)
@pytest.mark.parametrize("kind", ["a.bsl", "a.onnx", "steps.onnx"])
def test_every_result_can_be_observed(tmp_path: Path, peer: str, kind: str) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / kind
    network(path) if kind == "a.bsl" else onnx_network(path, kind == "steps.onnx")
    comparison = Comparison(path, peer, THOUSANDTH)
    comparison.feed([], [], [("n", 3)], 0)
    comparison.run()
    assert comparison.agrees
    assert comparison.left.source is not None
    pairs = pair(comparison.left.source, comparison.left.source).pairs
    assert len(pairs) == len(comparison.left.source.nodes)
    differences, agree = comparison._observe(pairs)
    assert agree and all(each.agrees for each in differences)


def test_a_wrong_kernel_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if ONNX Runtime computed a node wrongly."""
    path = onnx_network(tmp_path / "a.onnx")
    comparison = Comparison(path, "ort", THOUSANDTH)
    comparison.feed([], [], [("n", 3)], 0)
    right = comparison.right

    def wrong(runs: OnnxModel, feeds: Any, show: Any) -> dict[str, Any]:
        found = PEERS["numpy"][1](runs, feeds, show)
        return {name: array * 2 if name in ("r", "y") else array for name, array in found.items()}

    right.engine = wrong
    comparison.run()
    assert not comparison.agrees
    located = comparison.locate()
    assert located.finding is not None and located.finding.first == ((1, 0), (1, 0))
    assert located.finding.before == ((0, 0), (0, 0))


def test_what_cannot_be_observed_is_told(tmp_path: Path) -> None:
    comparison = Comparison(network(tmp_path / "a.bsl"), network(tmp_path / "b.bsl", weight=3), THOUSANDTH)
    comparison.feed([], [], [], 0)
    comparison.run()
    comparison.right.engine = lambda runs, feeds, show: (_ for _ in ()).throw(basalt.UnsupportedError("too hard"))
    assert comparison.locate().why == "intermediate results could not be had: too hard"
    comparison.right.source = None
    assert comparison.locate().why == f"{tmp_path / 'b.bsl'} does not show its nodes"


def test_generated_names_of_values_pair_nothing(tmp_path: Path) -> None:
    def source(first: str, second: str) -> OnnxSource:
        nodes = [node("Relu", "x", first), node("Exp", first, second), node("Neg", second, "y")]
        return OnnxSource(model(nodes, [value("x", shape=(3,))], [value("y", shape=(3,))]))

    left = source("hidden", "12")
    right = OnnxSource(
        model(
            [node("Exp", "x", "12"), node("Relu", "12", "hidden"), node("Neg", "hidden", "y")],
            [value("x", shape=(3,))],
            [value("y", shape=(3,))],
        )
    )
    assert pair(left, right).pairs == (((0, 0), (1, 0)), ((2, 0), (2, 0)))
    same = pair(left, source("other", "13"))
    assert len(same.pairs) == 3 and "same nodes" in same.how


def test_outputs_of_a_graph_are_observed_under_their_own_names(tmp_path: Path) -> None:
    loaded = basalt.load(network(tmp_path / "a.bsl"))
    source = GraphSource(loaded)
    runs, names = source.observing([(3, 0), (1, 0)])
    assert names == {(3, 0): "y", (1, 0): "node 1 output 0"}
    assert [spec.name for spec in runs.outputs] == ["y", "node 1 output 0"]
