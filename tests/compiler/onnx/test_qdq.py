"""Quantised models in the form that most tools write: QuantizeLinear and DequantizeLinear around float operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import basalt

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

Body = Callable[["_Writer", str], str]


class _Writer:
    """Collects the nodes and constants of a model of one float input ``x`` and one float output ``y``."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self.constants: list[object] = []
        self.numbers = np.random.default_rng(0)

    def constant(self, array: np.ndarray | np.generic) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, *inputs: str, output: str = "", **attributes: object) -> str:
        name = output or f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def quantised(self, x: str, scale: float, zero: int, output: str = "") -> str:
        """A value brought to bytes and back."""
        names = self.constant(np.float32(scale)), self.constant(np.uint8(zero))
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *names), *names, output=output)

    def weights(self, shape: tuple[int, ...], axis: int | None, low: int = -127, dtype: str = "int8") -> str:
        """Dequantised weights, of one scale or of one for each index along an axis."""
        scales = () if axis is None else (shape[axis],)
        given = (
            self.numbers.integers(low, 128, shape).astype(dtype),
            self.numbers.uniform(0.002, 0.01, scales).astype(np.float32),
            np.zeros(scales, dtype),
        )
        names = [self.constant(array) for array in given]
        return self.node("DequantizeLinear", *names, **({} if axis is None else {"axis": axis}))

    def model(self, body: Body, shape: tuple[int, ...]) -> bytes:
        result = self.quantised(body(self, self.quantised("x", 0.02, 120)), 0.05, 100, output="y")
        values = [onnx.helper.make_tensor_value_info(n, 1, s) for n, s in (("x", shape), (result, [None] * len(shape)))]
        graph = onnx.helper.make_graph(self.nodes, "qdq", values[:1], values[1:], self.constants)
        opset = onnx.helper.make_opsetid("", 19)
        return onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()


def _conv(w: _Writer, x: str) -> str:
    bias = w.constant(w.numbers.normal(size=32).astype(np.float32))
    return w.node("Relu", w.node("Conv", x, w.weights((32, 16, 3, 3), 0), bias, pads=[1, 1, 1, 1], strides=[2, 2]))


def _two_layers(w: _Writer, x: str) -> str:
    hidden = w.node("Relu", w.node("MatMul", x, w.weights((64, 48), 1)))
    return w.node("Gemm", w.quantised(hidden, 0.03, 0), w.weights((20, 48), 0), transB=1)


BODIES: dict[str, tuple[Body, tuple[int, ...]]] = {
    "matmul": (lambda w, x: w.node("MatMul", x, w.weights((300, 250), 1)), (3, 300)),
    "matmul of one scale": (lambda w, x: w.node("MatMul", x, w.weights((64, 32), None, 0, "uint8")), (2, 5, 64)),
    "two layers": (_two_layers, (7, 64)),
    "conv": (_conv, (2, 16, 9, 9)),
    "depthwise": (lambda w, x: w.node("Conv", x, w.weights((16, 1, 3, 3), 0), group=16), (1, 16, 6, 6)),
}
IN_BYTES = {"matmul": 1, "matmul of one scale": 1, "two layers": 2, "conv": 1, "depthwise": 0}


@pytest.mark.parametrize("name", BODIES)
def test_results(name: str) -> None:
    body, shape = BODIES[name]
    content = _Writer().model(body, shape)
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    settings = ort.SessionOptions()
    # Else sums of products of bytes are cut to 16 bits on CPUs without VNNI.
    settings.add_session_config_entry("session.x64quantprecision", "1")
    (wanted,) = ort.InferenceSession(content, settings).run(None, {"x": x})
    (got,) = basalt.InferenceSession(content).run(None, {"x": x})
    # One step of the output's quantisation, where a sum lies between two of them.
    np.testing.assert_allclose(got, wanted, atol=0.0501)
    assert (got != wanted).mean() < 0.01


@pytest.mark.parametrize("name", BODIES)
def test_products_are_of_bytes(name: str, tmp_path: Path) -> None:
    body, shape = BODIES[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(_Writer().model(body, shape))
    text = basalt.load(path).to_model().text(after="integer_products")
    assert text.count("matmul_integer(") + text.count("conv_integer(") == IN_BYTES[name]
