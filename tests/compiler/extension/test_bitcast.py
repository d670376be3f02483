"""bitcast: views of other tensors' memory as another data type."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.onnx.model import OnnxExecutable
from basalt.errors import ValidationError
from basalt.ops import TensorType, get

from ..onnx.making import model, node, value

FLOAT, INT32 = 1, 6


@pytest.mark.parametrize("shape", [(), (0,), (3,), (4, 33), (129, 65)])
def test_bits_of_computed_tensors(shape: tuple[int, ...]) -> None:
    """The magnitude of a sum by clearing its sign bit, where the sum is still needed afterwards."""
    nodes = [
        node("Add", "x x", "sum"),
        node("BitCast", "sum", "bits", to=INT32),
        node("BitwiseAnd", "bits mask", "low"),
        node("BitCast", "low", "magnitude", to=FLOAT),
        node("Sub", "magnitude sum", "y"),
        node("Transpose", "bits", "turned"),
    ]
    inputs = [value("x", shape=tuple(f"d{i}" for i in range(len(shape))))]
    outputs = [value("y"), value("magnitude"), value("turned", "int32"), value("bits", "int32")]
    made = OnnxExecutable(model(nodes, inputs, outputs, {"mask": np.array(2**31 - 1, np.int32)}, opset=26), eager=False)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    found = made.run({"x": x})
    np.testing.assert_array_equal(found["magnitude"], abs(2 * x))
    np.testing.assert_array_equal(found["y"], abs(2 * x) - 2 * x)
    np.testing.assert_array_equal(found["bits"], np.asarray(2 * x).view(np.int32))
    np.testing.assert_array_equal(found["turned"], np.asarray(2 * x).view(np.int32).T)


@pytest.mark.parametrize(("source", "target"), [("float32", "float16"), ("int8", "int64")])
def test_elements_have_as_many_bytes(source: str, target: str) -> None:
    with pytest.raises(ValidationError, match=f"{target} has"):
        get("bitcast").check([TensorType(source, (3,))], {"data_type": target}, extended=True)
