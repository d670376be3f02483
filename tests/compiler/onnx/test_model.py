"""Loading and running ONNX models: inputs, outputs, sizes, and what is refused, with which words."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.onnx.model import OnnxExecutable
from basalt.serialization.onnx import OnnxFunction, OnnxModel

from .making import model, node, value

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


def doubling(shape: Any = ("n", 3), **fields: Any) -> OnnxModel:
    """y = x + x"""
    return model(
        [node("Add", "x x", "y", name="twice")], [value("x", shape=shape)], [value("y", shape=shape)], **fields
    )


def ready(source: OnnxModel) -> OnnxExecutable:
    return OnnxExecutable(source, eager=False)


def test_load_takes_paths_bytes_and_files(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    doubling(metadata_props={"author": "somebody"}).save(path)
    for source in (path, str(path), path.read_bytes(), path.open("rb")):
        loaded = basalt.load(source, eager_first_run=False)
        assert loaded.run({"x": X})["y"].tolist() == (2 * X).tolist()
    assert [(s.name, s.dtype, s.shape) for s in loaded.inputs] == [("x", "float32", ("n", 3))]
    assert [(s.name, s.dtype, s.shape) for s in loaded.outputs] == [("y", "float32", ("n", 3))]
    assert loaded.metadata == {"author": "somebody"}
    assert "def kernel" in loaded.source({"x": (2, 3)}) and len(loaded.explain({"x": (2, 3)})) == 1
    assert loaded.onnx.nodes[0].name == "twice"
    assert repr(loaded) == "<OnnxExecutable 'g' (x: float32['n', 3]) -> (y: float32['n', 3])>"


def test_one_translation_serves_all_sizes() -> None:
    loaded = ready(doubling())
    for rows in (2, 1, 5, 0):
        x = np.full((rows, 3), rows, np.float32)
        assert loaded.run({"x": x})["y"].tolist() == (2 * x).tolist()
    out = np.empty((2, 3), np.float32)
    assert loaded.run({"x": X}, {"y": out})["y"] is out
    assert out.tolist() == (2 * X).tolist()


def test_sizes_fold_through_shape_chains() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "rows"),
        node("Mul", "rows two", "many"),
        node("Unsqueeze", "many axis", "many1"),
        node("Concat", "many1 minus", "target", axis=0),
        node("Reshape", "x target", "y"),
    ]
    constants = {"zero": np.array(0), "two": np.array(2), "axis": np.array([0]), "minus": np.array([-1])}
    loaded = ready(model(nodes, [value("x", shape=("n", 4))], [value("y")], constants))
    graph_text = loaded.text()
    assert "reshape" in graph_text and "gather" not in graph_text and "concat" not in graph_text
    for rows in (1, 3):
        x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
        assert loaded.run({"x": x})["y"].tolist() == x.reshape(2 * rows, 2).tolist()


def test_a_model_saved_as_bsl_gives_the_same(tmp_path: Path) -> None:
    loaded = ready(doubling(metadata_props={"author": "somebody"}))
    basalt.save(loaded, tmp_path / "m.bsl")
    again = basalt.load(tmp_path / "m.bsl", eager_first_run=False)
    assert isinstance(again, basalt.Model) and again.metadata == {"author": "somebody"}
    assert again.run({"x": X})["y"].tolist() == (2 * X).tolist()


def test_run_of_the_plain_model() -> None:
    assert doubling().run({"x": X})["y"].tolist() == (2 * X).tolist()
    assert doubling().predict_matrix(X.astype(np.float64)).tolist() == (2 * X).tolist()


def test_inputs_with_defaults_may_be_fed() -> None:
    source = model(
        [node("Add", "x w", "y")], [value("x", shape=(3,)), value("w", shape=(3,))], [value("y")], {"w": X[0]}
    )
    loaded = ready(source)
    assert [s.name for s in loaded.inputs] == ["x"]
    assert loaded.run({"x": X[1]})["y"].tolist() == (X[1] + X[0]).tolist()
    assert loaded.run({"x": X[1], "w": X[1]})["y"].tolist() == (X[1] + X[1]).tolist()
    assert loaded.run({"x": X[1]})["y"].tolist() == (X[1] + X[0]).tolist()


def test_nodes_need_not_be_in_order() -> None:
    source = model([node("Add", "a x", "y"), node("Add", "x x", "a")], [value("x", shape=(2, 3))], [value("y")])
    assert ready(source).run({"x": X})["y"].tolist() == (3 * X).tolist()
    assert [n.outputs for n in source.nodes] == [("y",), ("a",)]


def test_outputs_that_are_inputs_and_constants() -> None:
    outputs = [value("x", shape=(2, 3)), value("w"), value("b", "bool"), value("x", shape=(2, 3))]
    constants = {"w": X, "b": np.array([True])}
    loaded = ready(model([], [value("x", shape=(2, 3))], outputs, constants))
    results = loaded.run({"x": X})
    assert results["x"].tolist() == results["w"].tolist() == X.tolist() and results["b"].tolist() == [True]
    assert not np.shares_memory(results["x"], X)


def test_functions_of_the_model() -> None:
    inner = OnnxFunction("Twice", "own", ("a",), ("b",), (node("Add", "a a", "b"),), opset_imports={"": 21})
    outer = OnnxFunction(
        "Four", "own", ("a",), ("c",), (node("Twice", "a", "b", domain="own"), node("Twice", "b", "c", domain="own"))
    )
    nodes = [node("Four", "x", "y", domain="own", name="call")]
    imports = {"": 21, "own": 1}
    source = model(nodes, [value("x", shape=(2, 3))], [value("y")], functions=(inner, outer), opset_imports=imports)
    loaded = ready(source)
    assert loaded.run({"x": X})["y"].tolist() == (4 * X).tolist()


def test_many_threads_run_one_model() -> None:
    loaded = ready(doubling())
    wrong: list[int] = []

    def work(seed: int) -> None:
        for rows in (1, 2, 3):
            x = np.full((rows, 3), seed, np.float32)
            if loaded.run({"x": x})["y"].tolist() != (2 * x).tolist():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, "input 'x' is missing; the inputs are 'x'"),
        ({"x": X, "z": X}, "no input is named 'z'; the inputs are 'x'"),
        ({"x": X.astype(np.float64)}, "input 'x' is float64, expected float32"),
        ({"x": X[:, :2]}, "input 'x' has shape [2, 2], expected [n, 3]"),
        ({"x": X[0]}, "input 'x' has shape [3], expected [n, 3]"),
        ([X], "feeds is list, expected a dictionary from input names to arrays"),
    ],
)
def test_wrong_feeds(feeds: Any, message: str) -> None:
    with pytest.raises(basalt.ValidationError, match=re.escape(message)):
        ready(doubling()).run(feeds)


def test_all_unsupported_operators_are_named_at_once() -> None:
    nodes = [
        node("Add", "x x", "a"),
        node("Frobnicate", "a", "b", name="first"),
        node("Thing", "b", "c", domain="org.other", name="second"),
        node("Frobnicate", "c", "d", name="third"),
    ]
    source = model(nodes, [value("x", shape=(2, 3))], [value("d")], opset_imports={"": 21, "org.other": 3})
    with pytest.raises(basalt.UnsupportedError) as caught:
        ready(source)
    assert str(caught.value).splitlines() == [
        "the model has operators that are not supported:",
        "  ai.onnx.Frobnicate (opset 21): 'first', 'third'",
        "  org.other.Thing (opset 3): 'second'",
    ]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Add", "x missing", "y", name="n")], "node 'n' reads 'missing', which no input, initialiser or earlier"),
        ([node("Add", "y x", "y", name="n")], "node 'n' depends on its own output"),
        ([node("Add", "x x", "y"), node("Sub", "x x", "y")], "two nodes of graph 'g' give 'y'"),
        ([node("Add", "x x", "y", wrong=1)], "Add-14 'y' has an unknown attribute 'wrong'"),
        ([node("Concat", "x x", "y", axis=1.0)], "attribute 'axis' is FLOAT, expected INT"),
        ([node("Concat", "x x", "y", name="c")], "node Concat-13 'c': attribute 'axis' is missing"),
        ([node("Add", "x x", "z")], "output 'y' is given by no input, initialiser or node"),
    ],
)
def test_models_that_break_the_rules(nodes: Any, message: str) -> None:
    with pytest.raises(basalt.ModelFormatError, match=re.escape(message)):
        ready(model(nodes, [value("x", shape=(2, 3))], [value("y")])).run({"x": X})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (model([node("Add", "x", "y", name="n")], [value("x", shape=(2, 3))], [value("y")]), "input B is missing"),
        (
            model([node("Add", "x i", "y", name="n")], [value("x", shape=(2, 3))], [value("y")], {"i": np.array([1])}),
            "Add-14 'n' (A: float32[2, 3], B: int64[1]): input B is int64, expected float32 like the inputs before it",
        ),
        (
            model([node("Add", "x x", "y", name="n")], [value("x", "uint8", (2, 3))], [value("y", "uint8")], opset=13),
            "Add-13 'n' (A: uint8[2, 3], B: uint8[2, 3]): input A is uint8, expected",
        ),
        (
            model([node("Add", "x w", "y", name="n")], [value("x", shape=(2, 3))], [value("y")], {"w": X[:, :2]}),
            "cannot be broadcast",
        ),
    ],
)
def test_nodes_that_the_standard_does_not_allow(source: OnnxModel, message: str) -> None:
    x = X.astype(source.inputs[0].dtype)
    with pytest.raises(basalt.ValidationError, match=re.escape(message)):
        ready(source).run({"x": x})


def test_a_destroyed_model_is_refused() -> None:
    loaded = ready(doubling())
    loaded.run({"x": X})
    loaded.destroy()
    assert loaded.destroyed
    with pytest.raises(basalt.InvalidStateError, match="run: <OnnxExecutable 'g' destroyed"):
        loaded.run({"x": X})


def test_outputs_from_before_a_step_of_the_host() -> None:
    nodes = [node("Add", "x x", "early"), node("NonZero", "x", "places"), node("Add", "places places", "late")]
    outputs = [value("early"), value("late", "int64"), value("places", "int64")]
    results = ready(model(nodes, [value("x", shape=("n", 3))], outputs)).run({"x": X})
    assert results["early"].tolist() == (2 * X).tolist()
    assert results["late"].tolist() == (2 * np.array(np.nonzero(X))).tolist()


def test_steps_can_be_looked_at() -> None:
    nodes = [node("Add", "x x", "a"), node("NonZero", "a", "places", name="find"), node("Add", "places places", "y")]
    loaded = ready(model(nodes, [value("x", shape=("n", 3))], [value("y", "int64")]))
    assert loaded.steps() == "nothing is translated before the first run"
    loaded.run({"x": X})
    assert loaded.steps().splitlines() == [
        "region for any sizes: 1 core nodes (1 add)",
        "NonZero-13 'find'",
        "  region for sizes of one run: 1 core nodes (1 add)",
        "  the end",
    ]
