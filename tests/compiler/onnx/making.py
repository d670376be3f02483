"""Small ONNX models made without the onnx package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from basalt.serialization.onnx import (
    OnnxAttribute,
    OnnxGraph,
    OnnxModel,
    OnnxNode,
    OnnxTensor,
    OnnxType,
    OnnxValueInfo,
)

__all__ = ["graph", "model", "node", "value"]


def value(name: str, dtype: str = "float32", shape: Sequence[Any] | None = None) -> OnnxValueInfo:
    """A tensor's declaration."""
    return OnnxValueInfo(name, OnnxType("tensor", dtype, None if shape is None else tuple(shape)))


def node(op: str, inputs: str, outputs: str, *, domain: str = "", name: str = "", **attributes: Any) -> OnnxNode:
    """A node; inputs and outputs are names between blanks, ``_`` for one left out."""
    made = {key: _attribute(key, given) for key, given in attributes.items()}
    return OnnxNode(op, _names(inputs), _names(outputs), made, domain, name)


def _names(text: str) -> tuple[str, ...]:
    return tuple("" if name == "_" else name for name in text.split())


def _attribute(name: str, given: Any) -> OnnxAttribute:
    if isinstance(given, OnnxGraph):
        return OnnxAttribute(name, "GRAPH", given)
    if isinstance(given, np.ndarray):
        return OnnxAttribute(name, "TENSOR", OnnxTensor.from_array("", given))
    if isinstance(given, (list, tuple)):
        kind = "FLOATS" if any(isinstance(g, float) for g in given) else "INTS"
        if any(isinstance(g, str) for g in given):
            return OnnxAttribute(name, "STRINGS", tuple(g.encode() for g in given))
        return OnnxAttribute(name, kind, tuple(given))
    if isinstance(given, str):
        return OnnxAttribute(name, "STRING", given.encode())
    return OnnxAttribute(name, "FLOAT" if isinstance(given, float) else "INT", given)


def graph(
    nodes: Sequence[OnnxNode],
    inputs: Sequence[OnnxValueInfo] = (),
    outputs: Sequence[OnnxValueInfo] = (),
    constants: Mapping[str, Any] | None = None,
    name: str = "g",
) -> OnnxGraph:
    """A graph, with initialisers by name."""
    tensors = tuple(OnnxTensor.from_array(key, np.asarray(array)) for key, array in (constants or {}).items())
    return OnnxGraph(name, tuple(nodes), tuple(inputs), tuple(outputs), tensors)


def model(
    nodes: Sequence[OnnxNode],
    inputs: Sequence[OnnxValueInfo] = (),
    outputs: Sequence[OnnxValueInfo] = (),
    constants: Mapping[str, Any] | None = None,
    opset: int = 21,
    **fields: Any,
) -> OnnxModel:
    """A model of one graph."""
    imports = fields.pop("opset_imports", {"": opset})
    return OnnxModel(graph(nodes, inputs, outputs, constants), imports, **fields)
