"""Models with bodies, made with the onnx package, and ONNX Runtime's results for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from basalt.onnx_backend import Backend

__all__ = ["BOOL", "FLOAT", "INT64", "body", "compare", "constant", "model", "node", "same", "value"]

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def value(name: str, kind: int = FLOAT, shape: Sequence[Any] | None = None) -> Any:
    """A tensor's declaration."""
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name: str, array: Any) -> Any:
    """A node that gives an array."""
    return node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.asarray(array)))


def body(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], initializers: Sequence[Any] = ()) -> Any:
    """A body."""
    return helper.make_graph(list(nodes), "body", list(inputs), list(outputs), list(initializers))


def model(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], opset: int = 17) -> Any:
    """A model."""
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def same(results: Sequence[Any], expected: Sequence[Any]) -> None:
    """Assert that outputs are equal, lists element by element."""
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        if isinstance(wanted, list):
            same(result, wanted)
            continue
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def compare(made: Any, *runs: Mapping[str, Any]) -> list[list[Any]]:
    """Basalt's outputs for each run, one after another in one model, which must be ONNX Runtime's."""
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    ready = Backend.prepare(made)
    found = []
    for feeds in runs:
        results = list(ready.run(dict(feeds)))
        same(results, session.run(None, dict(feeds)))
        found.append(results)
    return found
