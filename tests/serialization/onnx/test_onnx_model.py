"""The model as a whole: what it tells about itself, and running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from basalt.errors import InvalidStateError, ValidationError
from basalt.serialization.onnx import (
    OnnxGraph,
    OnnxModel,
    OnnxNode,
    OnnxSparseTensor,
    OnnxTensor,
    OnnxType,
    OnnxValueInfo,
    engine,
    register_engine,
)


def value(name: str, dtype: str = "float32", shape: tuple | None = ("n", 2)) -> OnnxValueInfo:
    return OnnxValueInfo(name, OnnxType("tensor", dtype, shape))


def make(inputs: tuple[OnnxValueInfo, ...] = (value("x"),), outputs: tuple = (value("y"),)) -> OnnxModel:
    tensor = OnnxTensor.from_array("w", np.zeros(2, np.float32))
    sparse = OnnxSparseTensor(
        OnnxTensor.from_array("s", np.zeros(0, np.float32)), OnnxTensor.from_array("", np.zeros(0, np.int64)), (2,)
    )
    nodes = (OnnxNode("Relu", ("x",), ("y",)),)
    return OnnxModel(OnnxGraph("g", nodes, inputs, outputs, (tensor,), (sparse,)), {"": 17, "ai.onnx.ml": 3})


class Doubler:
    """Gives twice the input ``x``."""

    made = 0

    def __init__(self, model: OnnxModel) -> None:
        Doubler.made += 1
        self.fed: list[Mapping[str, np.ndarray]] = []

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.fed.append(feeds)
        return {"y": feeds["x"] * 2}


@pytest.fixture
def doubler(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Doubler]]:
    monkeypatch.setattr(engine, "_make", None)
    monkeypatch.setattr(Doubler, "made", 0)
    register_engine(Doubler)
    return Doubler


def test_face() -> None:
    model = make((value("x", shape=("batch", None)), value("w"), value("s")))
    assert [(each.name, each.dtype, each.shape) for each in model.inputs] == [("x", "float32", ("batch", None))]
    assert [each.name for each in model.outputs] == ["y"]
    assert list(model.initializers) == ["w"]
    assert [node.op_type for node in model.nodes] == ["Relu"]
    assert (model.opset, model.producer) == (17, "")
    model.producer_name, model.producer_version = "tool", "2"
    assert model.producer == "tool 2"
    assert OnnxModel(opset_imports={"ai.onnx.ml": 3}).opset == 1
    assert OnnxValueInfo("z").dtype == "undefined" and OnnxValueInfo("z").shape is None


def test_run(doubler: type[Doubler]) -> None:
    model = make()
    feeds = {"x": np.ones((3, 2), np.float32)}
    assert model.run(feeds)["y"].tolist() == [[2, 2]] * 3
    model.run(feeds)
    assert doubler.made == 1


def test_run_without_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_make", None)
    monkeypatch.setattr(engine, "_DEFAULT", "basalt.errors")
    with pytest.raises(InvalidStateError, match=r"basalt\.errors registered none"):
        make().run({})


def test_predict_matrix(doubler: type[Doubler]) -> None:
    model = make()
    result = model.predict_matrix(np.arange(6).reshape(3, 2))
    assert result.dtype == np.float32
    assert result.tolist() == [[0, 2], [4, 6], [8, 10]]
    assert model.predict_matrix([[1.5, 2]]).tolist() == [[3, 4]]
    assert make((value("x", "int64"),)).predict_matrix(np.array([[1.0, 2]])).dtype == np.int64
    assert make((value("x", shape=None),)).predict_matrix(np.zeros((0, 5))).shape == (0, 0)


@pytest.mark.parametrize(("given", "shape"), [((4,), (4, 1)), ((4, 2, 3), (4, 6)), ((4, 0), (4, 0))])
def test_predict_matrix_gives_rows(monkeypatch: pytest.MonkeyPatch, given: tuple, shape: tuple) -> None:
    class Fixed:
        def run(self, feeds: object) -> dict[str, np.ndarray]:
            return {"y": np.zeros(given)}

    monkeypatch.setattr(engine, "_make", lambda model: Fixed())
    assert make().predict_matrix(np.zeros((4, 2))).shape == shape
    with pytest.raises(ValidationError, match="has not one entry a row of 3"):
        make().predict_matrix(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("model", "matrix", "reason"),
    [
        (make(), np.zeros(2), "has shape \\(2,\\)"),
        (make(), np.zeros((3, 4)), "declared with shape \\('n', 2\\), the matrix has shape \\(3, 4\\)"),
        (make((value("x", shape=(5, 2)),)), np.zeros((3, 2)), "declared with shape"),
        (make((value("x", shape=("n",)),)), np.zeros((3, 2)), "declared with shape"),
        (make(()), np.zeros((3, 2)), "inputs: none"),
        (make((value("a"), value("b"))), np.zeros((3, 2)), "inputs: 'a', 'b'"),
        (make(outputs=()), np.zeros((3, 2)), "outputs: 0"),
        (make((value("x", "string"),)), np.zeros((3, 2)), "no numeric tensor"),
        (make((OnnxValueInfo("x"),)), np.zeros((3, 2)), "no numeric tensor"),
        (make((OnnxValueInfo("x", OnnxType("sequence")),)), np.zeros((3, 2)), "but sequence"),
    ],
)
def test_predict_matrix_refuses(doubler: type[Doubler], model: OnnxModel, matrix: np.ndarray, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        model.predict_matrix(matrix)
