"""The short way through models that are one region, or one and a host operator at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.onnx.direct import _Ending
from basalt.compiler.onnx.model import OnnxExecutable
from basalt.serialization.onnx import OnnxModel, OnnxType, OnnxValueInfo

from .making import model, node, value

LABELS = (7, 8, 9)
MAPS = OnnxValueInfo("maps", OnnxType("sequence"))


def _zipped(*outputs: OnnxValueInfo, extra: tuple[Any, ...] = ()) -> OnnxModel:
    """double = x + x; maps = ZipMap(double)"""
    nodes = [
        node("Add", "x x", "double"),
        node("ZipMap", "double", "maps", domain="ai.onnx.ml", classlabels_int64s=LABELS),
        *extra,
    ]
    return model(nodes, [value("x", shape=("n", 3))], outputs, opset_imports={"": 17, "ai.onnx.ml": 3})


def _maps(x: np.ndarray) -> list[dict[int, float]]:
    return [dict(zip(LABELS, row)) for row in (x + x).tolist()]


def _ran(source: OnnxModel) -> OnnxExecutable:
    """The model after its first run, which finds the short way."""
    loaded = OnnxExecutable(source, eager=False)
    loaded.run({"x": np.ones((2, 3), np.float32)})
    return loaded


def test_a_host_operator_at_the_end() -> None:
    loaded = _ran(_zipped(MAPS, value("double")))
    assert isinstance(loaded._direct, _Ending)
    for rows in (1, 2, 5, 0):
        x = np.arange(3.0 * rows, dtype=np.float32).reshape(rows, 3)
        results = loaded.run({"x": x})
        assert list(results) == ["maps", "double"]
        assert results["maps"] == _maps(x)
        np.testing.assert_array_equal(results["double"], x + x)


def test_arrays_for_outputs_and_other_feeds_go_the_long_way() -> None:
    loaded = _ran(_zipped(value("double"), MAPS))
    x, place = np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32)
    assert loaded.run({"x": x.tolist()})["maps"] == _maps(x)
    with pytest.raises(basalt.ValidationError, match=r"input 'x' has shape \[4\], expected \[n, 3\]"):
        loaded.run({"x": np.ones(4, np.float32)})
    with pytest.raises(basalt.ValidationError, match="no input is named 'z'"):
        loaded.run({"z": x})
    results = loaded.run({"x": x}, {"double": place})
    assert results["double"].tolist() == (x + x).tolist()


def test_what_follows_the_host_operator_needs_the_long_way() -> None:
    source = model(
        [node("NonZero", "x", "places"), node("Add", "places places", "y")],
        [value("x", shape=("n", 3))],
        [value("y", "int64")],
    )
    loaded = _ran(source)
    assert loaded._direct is None
    assert loaded.run({"x": np.eye(3, dtype=np.float32)})["y"].tolist() == [[0, 2, 4], [0, 2, 4]]


def test_results_whose_size_is_the_step_s_own() -> None:
    loaded = _ran(model([node("NonZero", "x", "y")], [value("x", shape=("n", 3))], [value("y", "int64")]))
    for x in (np.eye(3, dtype=np.float32), np.ones((2, 3), np.float32)):
        np.testing.assert_array_equal(loaded.run({"x": x})["y"], np.array(np.nonzero(x)))


def test_truth_values_leave_in_their_own_form() -> None:
    nodes = [
        node("Greater", "x zero", "positive"),
        node("ZipMap", "x", "maps", domain="ai.onnx.ml", classlabels_int64s=LABELS),
    ]
    source = model(
        nodes,
        [value("x", shape=("n", 3))],
        [value("positive", "bool"), MAPS],
        constants={"zero": np.float32(0)},
        opset_imports={"": 17, "ai.onnx.ml": 3},
    )
    loaded = _ran(source)
    for _ in range(2):
        results = loaded.run({"x": np.array([[1, -1, 2]], np.float32)})
        assert results["positive"].dtype == np.bool_
        assert results["positive"].tolist() == [[True, False, True]]
