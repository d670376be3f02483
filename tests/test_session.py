"""The interface that scripts written for onnxruntime use."""

from __future__ import annotations

import numpy as np
import pytest

import basalt as ort
from basalt.serialization.onnx import OnnxType, OnnxValueInfo
from basalt.session import NodeArg

from .compiler.onnx.making import model, node, value

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


@pytest.fixture(scope="module")
def session() -> ort.InferenceSession:
    source = model(
        [node("Add", "x w", "sum"), node("Mul", "x x", "square")],
        [value("x", shape=("n", 3)), value("w", shape=(3,))],
        [value("sum", shape=("n", 3)), value("square", shape=("n", 3))],
        {"w": X[0]},
        producer_name="tests",
        metadata_props={"a": "b"},
    )
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    providers = ["CUDAExecutionProvider", ("CPUExecutionProvider", {})]
    return ort.InferenceSession(source.to_bytes(), options, providers=providers)


def test_run(session: ort.InferenceSession) -> None:
    total, square = session.run(None, {"x": X})
    assert total.tolist() == (X + X[0]).tolist() and square.tolist() == (X * X).tolist()
    (square,) = session.run(["square"], {"x": X}, ort.RunOptions())
    assert square.tolist() == (X * X).tolist()
    (total,) = session.run(["sum"], {"x": X, "w": X[1]})
    assert total.tolist() == (X + X[1]).tolist()


def test_descriptions(session: ort.InferenceSession) -> None:
    (x,) = session.get_inputs()
    assert (x.name, x.type, x.shape) == ("x", "tensor(float)", ["n", 3])
    assert [o.name for o in session.get_outputs()] == ["sum", "square"]
    assert [o.name for o in session.get_overridable_initializers()] == ["w"]
    assert session.get_providers() == ort.get_available_providers() == ["CPUExecutionProvider"]
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.custom_metadata_map) == ("tests", {"a": "b"})


def test_bound_inputs_and_outputs(session: ort.InferenceSession) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("square")
    session.run_with_iobinding(binding)
    (square,) = binding.copy_outputs_to_cpu()
    assert square.tolist() == (X * X).tolist()


def test_what_is_refused(session: ort.InferenceSession) -> None:
    with pytest.raises(ort.ValidationError, match="no output is named 'z'; the outputs are"):
        session.run(["z"], {"x": X})
    with pytest.raises(ort.ValidationError, match="input 'x' is missing"):
        session.run(None, {})
    with pytest.raises(ort.ValidationError, match="of which none is CPUExecutionProvider"):
        ort.InferenceSession(b"", providers=["CUDAExecutionProvider"])
    with pytest.raises(ort.UnsupportedError, match="custom operators"):
        ort.SessionOptions().register_custom_ops_library("x.so")


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (OnnxType("tensor", "float64", ()), "tensor(double)"),
        (OnnxType("tensor", "float8_e4m3fn", ()), "tensor(float8e4m3fn)"),
        (OnnxType("sequence", element=OnnxType("tensor", "int64", ())), "seq(tensor(int64))"),
        (
            OnnxType(
                "sequence", element=OnnxType("map", key_dtype="string", element=OnnxType("tensor", "float32", ()))
            ),
            "seq(map(string,tensor(float)))",
        ),
    ],
)
def test_texts_of_types(declared: OnnxType, text: str) -> None:
    assert NodeArg(OnnxValueInfo("v", declared)).type == text
