"""Models of one ai.onnx.ml node, and ONNX Runtime's results for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import basalt

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
helper, TensorProto = onnx.helper, onnx.TensorProto

X = np.array([[-1, 0.5, 2], [-0.2, 0, 1], [0, 0, 0], [0.3, -4, 0.25], [0.7, 1, -1]], np.float32)
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
Outputs = tuple[tuple[str, int], ...]
LABELLED: Outputs = (("labels", INT64), ("scores", FLOAT))
POST = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]


def model(
    op: str, attributes: dict[str, Any], inputs: dict[str, np.ndarray], outputs: Outputs, version: int = 1
) -> bytes:
    node = helper.make_node(op, list(inputs), [name for name, _ in outputs], domain="ai.onnx.ml", **attributes)
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim)
        for name, x in inputs.items()
    ]
    graph = helper.make_graph([node], op, given, [helper.make_tensor_value_info(n, t, None) for n, t in outputs])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    made: bytes = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    return made


def check(
    op: str, attributes: dict[str, Any], inputs: dict[str, np.ndarray], outputs: Outputs, version: int = 1
) -> dict[str, Any]:
    """Basalt's results, which must be ONNX Runtime's."""
    content = model(op, attributes, inputs, outputs, version)
    session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
    results: dict[str, Any] = basalt.load(content, eager_first_run=False).run(inputs)
    for (name, _), expected in zip(outputs, session.run(None, inputs)):
        assert results[name].shape == expected.shape
        if expected.dtype == object:
            assert results[name].tolist() == expected.tolist()
        else:
            assert results[name].dtype == expected.dtype
            # ONNX Runtime computes in float32 whatever the input is.
            np.testing.assert_allclose(results[name], expected, rtol=1e-5, atol=2e-5)
    return results
