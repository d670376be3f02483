"""Models that ONNX Runtime has rewritten with its own operators run as the originals do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
helper, numpy_helper, TensorProto = onnx.helper, onnx.numpy_helper, onnx.TensorProto

RNG = np.random.default_rng(0)
node = helper.make_node


def random(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def model(nodes: list[Any], shape: tuple[int, ...], **constants: np.ndarray) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    made: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()
    return made


def quantised(name: str, source: str) -> list[Any]:
    """A tensor through 8 bits and back."""
    pair = ["step", "zero"]
    return [
        node("QuantizeLinear", [source, *pair], [f"{name}_q"]),
        node("DequantizeLinear", [f"{name}_q", *pair], [name]),
    ]


STEP = {"step": np.array(0.05, np.float32), "zero": np.array(120, np.uint8)}
WEIGHTS = RNG.integers(0, 255, (8, 6)).astype(np.uint8)
CASES: dict[str, tuple[list[Any], tuple[int, ...], dict[str, np.ndarray]]] = {
    "FusedConv": (
        [node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["y"])],
        (1, 3, 8, 8),
        {"w": random(4, 3, 3, 3)},
    ),
    "FusedMatMul": (
        [node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), node("MatMul", ["x", "t"], ["y"])],
        (2, 3, 4),
        {},
    ),
    "BiasGelu": (
        [
            node("Add", ["x", "b"], ["a"]),
            node("Div", ["a", "root"], ["d"]),
            node("Erf", ["d"], ["e"]),
            node("Add", ["e", "one"], ["f"]),
            node("Mul", ["a", "f"], ["g"]),
            node("Mul", ["g", "half"], ["y"]),
        ],
        (2, 3, 8),
        {
            "b": random(8),
            "root": np.array(np.sqrt(2), np.float32),
            "one": np.array(1, np.float32),
            "half": np.array(0.5, np.float32),
        },
    ),
    "QuickGelu": (
        [node("Mul", ["x", "k"], ["a"]), node("Sigmoid", ["a"], ["s"]), node("Mul", ["x", "s"], ["y"])],
        (2, 8),
        {"k": np.array(1.702, np.float32)},
    ),
    "DynamicQuantizeMatMul": (
        [
            node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
            node("MatMulInteger", ["q", "w", "z", "wz"], ["i"]),
            node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            node("Mul", ["s", "ws"], ["t"]),
            node("Mul", ["f", "t"], ["y"]),
        ],
        (3, 8),
        {"w": WEIGHTS, "wz": np.array(120, np.uint8), "ws": np.array(0.02, np.float32)},
    ),
    "QLinearAdd": (
        [*quantised("a", "x"), *quantised("b", "k"), node("Add", ["a", "b"], ["c"]), *quantised("y", "c")],
        (2, 8),
        {"k": random(8), **STEP},
    ),
    "QLinearSigmoid": (
        [*quantised("a", "x"), node("Sigmoid", ["a"], ["c"]), *quantised("y", "c")],
        (2, 8),
        dict(STEP),
    ),
    "QLinearConcat": (
        [*quantised("a", "x"), node("Concat", ["a", "a"], ["c"], axis=0), *quantised("y", "c")],
        (2, 8),
        dict(STEP),
    ),
    "QLinearGlobalAveragePool": (
        [*quantised("a", "x"), node("GlobalAveragePool", ["a"], ["c"]), *quantised("y", "c")],
        (1, 3, 4, 4),
        dict(STEP),
    ),
    "QLinearSoftmax": (
        [*quantised("a", "x"), node("Softmax", ["a"], ["c"], axis=-1), *quantised("y", "c")],
        (2, 8),
        dict(STEP),
    ),
}


@pytest.mark.parametrize("op", CASES)
def test_optimized(op: str, tmp_path: Path) -> None:
    nodes, shape, constants = CASES[op]
    content = model(nodes, shape, **constants)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    rewritten = onnx.load(options.optimized_model_filepath)
    assert op in {n.op_type for n in rewritten.graph.node if n.domain == "com.microsoft"}
    x = random(*shape)
    (expected,) = session.run(None, {"x": x})
    ready = basalt.load(options.optimized_model_filepath, eager_first_run=False)
    y = ready.run({"x": x})["y"]
    assert y.shape == expected.shape
    step = float(STEP["step"]) * 1.01 if op.startswith("QLinear") else 1e-5
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=step)
