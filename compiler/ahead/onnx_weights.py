"""ONNX models whose float32 weights are stored narrow: initialisers and constants of another data type behind casts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from basalt.serialization.onnx import OnnxAttribute, OnnxFunction, OnnxGraph, OnnxModel, OnnxNode, OnnxTensor

from .weights import NarrowedWeights

__all__ = ["narrowed_onnx"]

_FLOAT = 1
"""float32 as a cast's attribute names it (TensorProto.DataType)."""
_SINCE = {"float16": 6, "bfloat16": 13}
"""The versions of ai.onnx whose Cast takes these data types, and names types by numbers."""
_QUANTISING = re.compile("Quant|QLinear|QAttention|QGemm|NBits|Integer|Bnb4|BlockQ", re.IGNORECASE)
"""What the operators are called whose scales decide how others compute."""


def narrowed_onnx(model: OnnxModel, done: NarrowedWeights) -> OnnxModel:
    """The model with its weights narrow, which shares everything else with the given one.

    Where its opset's Cast lacks the data type, they are float32 numbers that the data type holds.
    """
    work = _Narrowing(model, done)
    return replace(
        model,
        graph=work.graph(model.graph),
        functions=tuple(work.function(function) for function in model.functions),
        notes=None,
    )


class _Narrowing:
    def __init__(self, model: OnnxModel, done: NarrowedWeights) -> None:
        self.done = done
        self.casts = model.opset >= _SINCE[done.dtype]
        self.fixed: set[str] = set()
        self.taken: set[str] = set()
        nodes = [*_nodes_of(model.graph.nodes), *(n for f in model.functions for n in _nodes_of(f.nodes))]
        for node in nodes:
            self.taken.update(node.inputs, node.outputs)
            if _QUANTISING.search(node.op_type):
                self.fixed.update(node.inputs)

    def graph(self, graph: OnnxGraph) -> OnnxGraph:
        """A graph, and those inside it."""
        # Callers may give what is an input too; an output is no operand.
        fixed = self.fixed | {v.name for v in (*graph.inputs, *graph.outputs)}
        stored, casts = [], []
        for tensor in graph.initializers:
            narrow = None if tensor.name in fixed else self._tensor(tensor, tensor.name)
            stored.append(narrow or tensor)
            if narrow is not None and narrow.name != tensor.name:
                casts.append(_cast(narrow.name, tensor.name))
        return replace(graph, nodes=(*casts, *self._nodes(graph.nodes, fixed)), initializers=tuple(stored), notes=None)

    def function(self, function: OnnxFunction) -> OnnxFunction:
        """A function, whose constants may be weights."""
        return replace(
            function, nodes=tuple(self._nodes(function.nodes, self.fixed | set(function.outputs))), notes=None
        )

    def _nodes(self, nodes: Sequence[OnnxNode], fixed: set[str]) -> Iterator[OnnxNode]:
        for node in nodes:
            yield from self._constant(node) if _is_constant(node, fixed) else [self._with_narrowed_graphs(node)]

    def _constant(self, node: OnnxNode) -> list[OnnxNode]:
        tensor, name = node.attributes["value"].value, node.outputs[0]
        assert isinstance(tensor, OnnxTensor)
        narrow = self._tensor(tensor, name)
        if narrow is None:
            return [node]
        attributes = {"value": OnnxAttribute("value", "TENSOR", narrow)}
        stored = replace(node, outputs=(narrow.name,), attributes=attributes, notes=None)
        return [stored] if narrow.name == name else [stored, _cast(narrow.name, name)]

    def _with_narrowed_graphs(self, node: OnnxNode) -> OnnxNode:
        graphs = {n: a for n, a in node.attributes.items() if a.kind in ("GRAPH", "GRAPHS")}
        if not graphs:
            return node
        changed = {name: replace(a, value=self._graphs(a.value), notes=None) for name, a in graphs.items()}
        return replace(node, attributes={**node.attributes, **changed}, notes=None)

    def _graphs(self, value: object) -> OnnxGraph | tuple[OnnxGraph, ...] | None:
        if isinstance(value, OnnxGraph):
            return self.graph(value)
        return tuple(map(self.graph, value)) if isinstance(value, tuple) else None

    def _tensor(self, tensor: OnnxTensor, name: str) -> OnnxTensor | None:
        if tensor.dtype != "float32":
            return None
        array = self.done.narrow(tensor.array(), name)
        if array is None:
            return None
        if not self.casts:
            return OnnxTensor.from_array(name, array.astype(np.float32))
        return OnnxTensor.from_array(self._free(f"{name}_{self.done.dtype}"), array)

    def _free(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def _is_constant(node: OnnxNode, fixed: set[str]) -> bool:
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or set(node.outputs) & fixed:
        return False
    value = node.attributes.get("value")
    return value is not None and isinstance(value.value, OnnxTensor)


def _nodes_of(nodes: Sequence[OnnxNode]) -> Iterator[OnnxNode]:
    """All nodes, those of graphs in attributes too."""
    for node in nodes:
        yield node
        for attribute in node.attributes.values():
            values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
            for value in values:
                if isinstance(value, OnnxGraph):
                    yield from _nodes_of(value.nodes)


def _cast(stored: str, wide: str) -> OnnxNode:
    return OnnxNode("Cast", (stored,), (wide,), {"to": OnnxAttribute("to", "INT", _FLOAT)}, name=f"{wide}/widen")
