"""What is read and written again is the same model, as the onnx package sees it."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from basalt.serialization.onnx import OnnxModel

onnx = pytest.importorskip("onnx")

from proto_strategies import models, tensors  # noqa: E402 - needs onnx
from wire_samples import all_tensors, with_tensor  # noqa: E402

DATA = Path(__file__).parent / "data"


@cache
def published() -> list[tuple[str, bytes]]:
    """Every model of the standard's own backend tests, by name."""
    from onnx.backend.test.case.model import collect_testcases as model_cases
    from onnx.backend.test.case.node import collect_testcases as node_cases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [case for case in node_cases(None) + model_cases() if case.model is not None]
    found = [(case.name, case.model.SerializeToString()) for case in cases]
    folder = Path(os.path.dirname(onnx.__file__)) / "backend" / "test" / "data"
    return found + [(str(path.relative_to(folder)), path.read_bytes()) for path in sorted(folder.rglob("*.onnx"))]


def canonical(content: bytes) -> bytes:
    """The bytes that the onnx package writes for a model."""
    return onnx.load_from_string(content).SerializeToString(deterministic=True)


def same_elements(ours: np.ndarray, theirs: np.ndarray) -> bool:
    if theirs.dtype == object:
        return ours.dtype == object and ours.shape == theirs.shape and bool((ours == theirs).all())
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def test_models_of_the_backend_tests() -> None:
    assert len(published()) > 1900
    for name, content in published():
        assert OnnxModel.load(content).to_bytes() == content, name


def test_tensors_of_the_backend_tests() -> None:
    count = 0
    for name, content in published():
        theirs = list(proto_tensors(onnx.load_from_string(content).graph))
        ours = list(all_tensors(OnnxModel.load(content).graph))
        assert len(ours) == len(theirs), name
        for mine, other in zip(ours, theirs):
            count += 1
            assert same_elements(mine.array(), onnx.numpy_helper.to_array(other)), f"{name}: {mine.name}"
    assert count > 1000


def proto_tensors(graph: object) -> list:
    found = list(graph.initializer)
    for sparse in graph.sparse_initializer:
        found += [sparse.values, sparse.indices]
    for node in graph.node:
        for attribute in node.attribute:
            found += [attribute.t] * attribute.HasField("t") + list(attribute.tensors)
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                found += proto_tensors(inner)
    return found


@settings(max_examples=200)
@given(models())
def test_any_model(message: object) -> None:
    content = message.SerializeToString(deterministic=True)
    loaded = OnnxModel.load(content)
    assert canonical(loaded.to_bytes()) == content
    assert OnnxModel.load(loaded.to_bytes()) == loaded


@settings(max_examples=200)
@given(tensors())
def test_any_tensor(message: object) -> None:
    if message.data_type == 8:
        expected = np.array([text.decode() for text in message.string_data], object).reshape(tuple(message.dims))
    else:
        expected = onnx.numpy_helper.to_array(message)
    tensor = OnnxModel.load(with_tensor(message.SerializeToString())).graph.initializers[0]
    assert same_elements(tensor.array(), expected)
    assert not tensor.array().flags.writeable
    assert tensor.array() is tensor.array()


@settings(max_examples=100)
@given(models())
def test_records_say_what_the_messages_say(message: object) -> None:
    """Without the notes about the wire, a model still has the same meaning."""
    loaded = OnnxModel.load(message.SerializeToString())
    assert loaded.ir_version == message.ir_version
    assert loaded.producer_name == message.producer_name
    assert loaded.metadata_props == {entry.key: entry.value for entry in message.metadata_props}
    assert [node.op_type for node in loaded.nodes] == [node.op_type for node in message.graph.node]
    assert [node.inputs for node in loaded.nodes] == [tuple(node.input) for node in message.graph.node]
    assert [value.name for value in loaded.outputs] == [value.name for value in message.graph.output]
    for node, other in zip(loaded.nodes, message.graph.node):
        assert list(node.attributes) == [attribute.name for attribute in other.attribute]
        for attribute, stated in zip(node.attributes.values(), other.attribute):
            if stated.type and not stated.ref_attr_name and attribute.kind in ("INTS", "STRINGS"):
                assert attribute.value == tuple(onnx.helper.get_attribute_value(stated))


def test_real_models() -> None:
    """Models of the folder BASALT_TEST_MODELS, if there is one: byte for byte."""
    folder = os.environ.get("BASALT_TEST_MODELS")
    if not folder:
        pytest.skip("BASALT_TEST_MODELS names no folder with models")
    paths = sorted(Path(folder).glob("*.onnx"))
    assert paths
    for path in paths:
        assert canonical(OnnxModel.load(path).to_bytes()) == canonical(path.read_bytes()), path.name
