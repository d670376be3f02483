"""The onnx package's Backend interface."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import basalt  # noqa: E402
from basalt.onnx_backend import Backend  # noqa: E402

from .compiler.onnx.making import model, node, value  # noqa: E402

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


def adding() -> onnx.ModelProto:
    source = model(
        [node("Add", "x w", "y"), node("Relu", "y", "z")],
        [value("x", shape=(2, 3)), value("w", shape=(3,))],
        [value("y"), value("z")],
        {"w": X[0]},
    )
    return onnx.load_from_string(source.to_bytes())


def test_prepare_and_run() -> None:
    ready = Backend.prepare(adding())
    for inputs in ([X], X, {"x": X}):
        y, z = ready.run(inputs)
        assert y.tolist() == (X + X[0]).tolist() and z.tolist() == np.maximum(X + X[0], 0).tolist()
    assert ready.run([X]).y.tolist() == (X + X[0]).tolist()
    y, _ = ready.run([X, X[1]])
    assert y.tolist() == (X + X[1]).tolist()
    assert Backend.run_model(adding(), [X])[0].tolist() == (X + X[0]).tolist()


def test_run_node() -> None:
    made = onnx.helper.make_node("Clip", ["x", "", "high"], ["y"])
    (y,) = Backend.run_node(made, [X, np.float32(1.5)])
    assert y.tolist() == np.minimum(X, 1.5).tolist()
    old = onnx.helper.make_node("Clip", ["x"], ["y"], max=1.5)
    (y,) = Backend.run_node(old, [X], opset_version=6)
    assert y.tolist() == np.minimum(X, 1.5).tolist()


def test_what_is_supported() -> None:
    assert Backend.supports_device("CPU") and not Backend.supports_device("CUDA")
    assert Backend.is_compatible(adding())
    unknown = adding()
    unknown.graph.node[0].op_type = "Frobnicate"
    assert not Backend.is_compatible(unknown)
    with pytest.raises(basalt.UnsupportedError, match="Frobnicate"):
        Backend.prepare(unknown)
    with pytest.raises(ValueError, match="device is 'CUDA', expected CPU"):
        Backend.prepare(adding(), "CUDA")
