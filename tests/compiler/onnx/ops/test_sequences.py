"""Sequences and optionals: translated where their structure is known, else by the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import ValidationError
from basalt.serialization.onnx import OnnxAttribute, OnnxNode, OnnxType, OnnxValueInfo

from ..making import model, node, value
from .one_node import allowed, close, run, sample, versions

A, B = sample("float32", (2, 3)), sample("float32", (4, 3), seed=1)
TENSOR = OnnxType("tensor", "float32", (None, 3))
SEQUENCE = OnnxType("sequence", element=TENSOR)


def loaded(nodes: list[OnnxNode], outputs: str, constants: Any = None, inputs: Any = None) -> OnnxExecutable:
    declared = [value("a", shape=("n", 3)), value("b", shape=("m", 3))] if inputs is None else inputs
    undefined = [OnnxValueInfo(name, OnnxType()) for name in outputs.split()]
    return OnnxExecutable(model(nodes, declared, undefined, constants, opset=18), eager=False)


def test_known_structure_is_one_program() -> None:
    nodes = [
        node("SequenceConstruct", "a b a", "s"),
        node("SequenceErase", "s one", "t"),
        node("SequenceInsert", "t b minus", "u"),
        node("SequenceInsert", "u a", "v"),
        node("SequenceErase", "v", "w"),
        node("SequenceAt", "w minus", "x"),
        node("SequenceLength", "w", "n"),
        node("ConcatFromSequence", "w", "y", axis=-2),
    ]
    constants = {"one": np.array(1, np.int32), "minus": np.array(-1)}
    made = loaded(nodes, "x n y", constants)
    assert made.text()
    for a, b in ((A, B), (B, A), (A[:0], B)):
        found = made.run({"a": a, "b": b})
        close(found["x"], a, "float32")
        assert found["n"].tolist() == 3 and found["n"].dtype == np.int64
        close(found["y"], np.concatenate([a, b, a]), "float32")


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stacking(axis: int) -> None:
    nodes = [node("SequenceConstruct", "a a", "s"), node("ConcatFromSequence", "s", "y", axis=axis, new_axis=1)]
    close(loaded(nodes, "y").run({"a": A, "b": B})["y"], np.stack([A, A], axis), "float32")


@pytest.mark.parametrize("count", [1, 2])
def test_construct_and_join(count: int) -> None:
    parts = run("SequenceConstruct", 11, *[A, B][:count])
    assert len(parts) == count
    close(parts[-1], [A, B][count - 1], "float32")
    close(run("ConcatFromSequence", 11, parts, axis=0), np.concatenate([A, B][:count]), "float32")
    stacked = run("ConcatFromSequence", 11, [A] * count, axis=2, new_axis=1)
    close(stacked, np.stack([A] * count, 2), "float32")


def test_empty_sequences() -> None:
    assert run("SequenceEmpty", 11) == []
    nodes = [
        node("SequenceEmpty", "", "s", dtype=1),
        node("SequenceLength", "s", "n"),
        node("SequenceInsert", "s a", "t"),
    ]
    found = loaded(nodes, "s n t").run({"a": A, "b": B})
    assert found["s"] == [] and found["n"] == 0
    close(found["t"][0], A, "float32")


def test_run_time_sequences_are_left_to_the_host() -> None:
    given = [A, B]
    close(run("SequenceAt", 11, given, np.array(-1)), B, "float32")
    assert run("SequenceLength", 11, given).tolist() == 2
    assert len(run("SequenceErase", 11, given, np.array(0))) == 1
    assert len(run("SequenceInsert", 11, given, A, np.array(1))) == 3


def test_a_sequence_is_read_by_several_host_steps() -> None:
    nodes = [
        node("SequenceLength", "s", "n"),
        node("SequenceAt", "s minus", "x"),
        node("Neg", "x", "y"),
        node("SequenceInsert", "s y", "t"),
        node("SequenceLength", "t", "m"),
    ]
    outputs = [OnnxValueInfo(name, OnnxType()) for name in ("n", "m", "y", "s2")]
    nodes.append(node("Identity", "s", "s2"))
    source = model(nodes, [OnnxValueInfo("s", SEQUENCE)], outputs, {"minus": np.array(-1)}, opset=18)
    made = OnnxExecutable(source, eager=False)
    for given in ([A, B], [B], [A, A, B]):
        found = made.run({"s": given})
        assert (found["n"], found["m"], len(found["s2"])) == (len(given), len(given) + 1, len(given))
        close(found["y"], -given[-1], "float32")


def test_positions_known_only_when_it_runs() -> None:
    nodes = [node("SequenceConstruct", "a b", "s"), node("SequenceAt", "s i", "y"), node("Neg", "y", "z")]
    inputs = [value("a", shape=("n", 3)), value("b", shape=("m", 3)), value("i", "int64", ())]
    made = loaded(nodes, "z", inputs=inputs)
    for i in (0, 1, -1, 0, -2):
        close(made.run({"a": A, "b": B, "i": np.array(i)})["z"], -[A, B][i], "float32")
    with pytest.raises(ValidationError, match="position"):
        made.run({"a": A, "b": B, "i": np.array(2)})


@pytest.mark.parametrize(
    ("op", "position"), [("SequenceAt", 2), ("SequenceAt", -3), ("SequenceErase", 2), ("SequenceInsert", 3)]
)
@pytest.mark.parametrize("known", [False, True])
def test_positions_that_are_not_there(op: str, position: int, known: bool) -> None:
    names = "s a i" if op == "SequenceInsert" else "s i"
    nodes = [node("SequenceConstruct", "a b", "s"), node(op, names, "y", name="the node")]
    inputs = [value("a", shape=("n", 3)), value("b", shape=("m", 3)), value("i", "int64", ())]
    made = loaded(nodes, "y", {"i": np.array(position)} if known else None, inputs[: 2 if known else 3])
    feeds = {"a": A, "b": B} | ({} if known else {"i": np.array(position)})
    with pytest.raises(ValidationError, match=f"the node.*{position}"):
        made.run(feeds)


def test_tensors_of_a_sequence_have_one_type() -> None:
    with pytest.raises(ValidationError, match="float32"):
        run("SequenceConstruct", 11, A, A.astype(np.float64))


SPLITS: list[tuple[Any, dict[str, int], list[tuple[int, ...]]]] = [
    (None, {}, [(1, 5)] * 4),
    (None, {"keepdims": 0}, [(5,)] * 4),
    (None, {"axis": 1, "keepdims": 0}, [(4,)] * 5),
    (None, {"axis": -1}, [(4, 1)] * 5),
    (np.array(3), {}, [(3, 5), (1, 5)]),
    (np.array(2, np.int32), {"axis": 1, "keepdims": 0}, [(4, 2), (4, 2), (4, 1)]),
    (np.array([1, 0, 3]), {}, [(1, 5), (0, 5), (3, 5)]),
    (np.array([2, 3]), {"axis": -1}, [(4, 2), (4, 3)]),
]


@pytest.mark.parametrize(("split", "attributes", "shapes"), SPLITS)
@pytest.mark.parametrize("version", [11, 24])
@pytest.mark.parametrize("known", [False, True])
def test_split_to_sequence(split: Any, attributes: dict[str, int], shapes: Any, version: int, known: bool) -> None:
    x = sample("float32", (4, 5))
    inputs = [x] if split is None else [x, split]
    for symbolic in (False, True):
        places = (1,) if known and split is not None else ()
        parts = run("SplitToSequence", version, *inputs, known=places, symbolic=symbolic, **attributes)
        assert [p.shape for p in parts] == shapes
        axis = attributes.get("axis", 0)
        joined = np.stack(parts, axis) if parts[0].ndim == 1 else np.concatenate(parts, axis)
        close(joined, x, "float32")


@pytest.mark.parametrize("split", [np.array(0), np.array([1, 2]), np.array([5, -1])])
@pytest.mark.parametrize("known", [(), (1,)])
def test_splits_that_do_not_fit(split: np.ndarray, known: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="split"):
        run("SplitToSequence", 11, sample("float32", (4, 5)), split, known=known)


def test_many_parts() -> None:
    parts = run("SplitToSequence", 11, np.arange(600), keepdims=0)
    assert [int(p) for p in parts] == list(range(600))


# Optionals


@pytest.mark.parametrize("version", [15, 18, 28])
def test_optionals_of_known_structure(version: int) -> None:
    tensor_type = OnnxAttribute("type", "TYPE_PROTO", TENSOR)
    nodes = [
        node("Optional", "a", "full"),
        OnnxNode("Optional", (), ("empty",), {"type": tensor_type}, "", ""),
        node("SequenceConstruct", "a b", "s"),
        node("Optional", "s", "list"),
        node("OptionalHasElement", "full", "yes"),
        node("OptionalHasElement", "empty", "no"),
        node("OptionalHasElement", "list", "also"),
        node("OptionalGetElement", "full", "x"),
        node("OptionalGetElement", "list", "t"),
        node("SequenceLength", "t", "n"),
    ]
    undefined = [OnnxValueInfo(name, OnnxType()) for name in ("yes", "no", "also", "x", "n")]
    inputs = [value("a", shape=("n", 3)), value("b", shape=("m", 3))]
    made = OnnxExecutable(model(nodes, inputs, undefined, opset=version), eager=False)
    found = made.run({"a": A, "b": B})
    assert [bool(found[k]) for k in ("yes", "no", "also")] == [True, False, True]
    assert found["yes"].dtype == np.bool_ and found["yes"].shape == ()
    close(found["x"], A, "float32")
    assert found["n"] == 2


@pytest.mark.parametrize("version", [15, 18, 28])
@pytest.mark.parametrize("element", [TENSOR, SEQUENCE], ids=["tensor", "sequence"])
def test_optional_inputs(version: int, element: OnnxType) -> None:
    given: Any = A if element is TENSOR else [A, B]
    inputs = [OnnxValueInfo("o", OnnxType("optional", element=element))]
    outputs = [OnnxValueInfo(name, OnnxType()) for name in ("has", "same")]
    nodes = [node("OptionalHasElement", "o", "has"), node("Identity", "o", "same")]
    made = OnnxExecutable(model(nodes, inputs, outputs, opset=version), eager=False)
    for fed, wanted in ((given, True), (None, False), (given, True)):
        found = made.run({"o": fed})
        assert bool(found["has"]) is wanted
        assert (found["same"] is None) is not wanted
    getter = model([node("OptionalGetElement", "o", "e", name="the node")], inputs, [OnnxValueInfo("e", OnnxType())])
    getter.opset_imports[""] = version
    got = OnnxExecutable(getter, eager=False).run({"o": given})["e"]
    close(got if element is TENSOR else got[0], A, "float32")
    with pytest.raises(ValidationError, match=r"the node.*empty"):
        OnnxExecutable(getter, eager=False).run({"o": None})


@pytest.mark.parametrize("version", [18, 28])
def test_tensors_sequences_and_nothing_as_optionals(version: int) -> None:
    assert bool(run("OptionalHasElement", version, A))
    assert bool(run("OptionalHasElement", version, [A]))
    assert not bool(run("OptionalHasElement", version))
    close(run("OptionalGetElement", version, A), A, "float32")


@pytest.mark.parametrize("version", [14, 16, 19, 21, 23, 24, 25])
def test_identity_of_sequences(version: int) -> None:
    found = run("Identity", version, [A, B])
    assert len(found) == 2
    close(found[1], B, "float32")


@pytest.mark.parametrize("version", versions("Identity"))
def test_identity_of_tensors(version: int) -> None:
    for dtype in allowed("Identity", version):
        x = np.arange(2).astype(np.int8).astype(onnx_dtype(dtype))
        found = run("Identity", version, x, compiled=version == 25)
        assert found.dtype == x.dtype and found.tobytes() == x.tobytes()
    words = np.array(["a", "b"], object)
    assert run("Identity", version, words).tolist() == ["a", "b"]
    numbers = np.array([1 + 2j], np.complex64)
    assert run("Identity", version, numbers).tolist() == [1 + 2j]
