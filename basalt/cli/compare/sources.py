"""Models whose nodes can be looked at, and whose intermediate results can be had as further outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

import basalt
from basalt.ops import bind_shape, numpy_dtype
from basalt.serialization.onnx import OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo

__all__ = ["GraphSource", "Key", "NodeView", "OnnxSource", "Operand", "Source"]

Key: TypeAlias = tuple[int, int]
"""A node's place in topological order, and which of its outputs."""

_CONSTANTS = frozenset({"Constant"})


@dataclass(frozen=True)
class Operand:
    """What a node reads or gives.

    ``key`` says of which node it is a result, ``array`` holds a constant; an input of the model has neither.
    ``name`` is empty where the model gives none.
    """

    name: str
    key: Key | None = None
    array: np.ndarray | None = None


@dataclass(frozen=True)
class NodeView:
    """A node for people and for pairing: ``inputs`` has None where an optional one is absent."""

    operator: str
    label: str
    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand, ...]


class Source(Protocol):
    """A model whose nodes can be looked at."""

    nodes: tuple[NodeView, ...]
    """In topological order."""

    def observing(self, keys: Sequence[Key]) -> tuple[Any, dict[Key, str]]:
        """The model with these results as outputs too, and the name of the output that gives each."""
        ...


class GraphSource:
    """A graph of the core operators."""

    def __init__(self, model: basalt.Executable) -> None:
        self._model = model
        graph = model.graph
        places = {v: (i, o) for i, node in enumerate(graph.nodes) for o, v in enumerate(node.outputs)}

        def operand(value: Any) -> Operand:
            array = model.constants.array(value) if value.is_constant else None
            return Operand(value.name, places.get(value), array)

        self.nodes = tuple(
            NodeView(
                node.op,
                ", ".join(node.labels()),
                tuple(None if v is None else operand(v) for v in node.inputs),
                tuple(map(operand, node.outputs)),
            )
            for node in graph.nodes
        )

    def observing(self, keys: Sequence[Key]) -> tuple[Any, dict[Key, str]]:
        graph = self._model.graph
        given = {value: name for name, value in graph.outputs}
        taken = {v.name for v in graph.inputs} | set(given.values())
        outputs, names = list(graph.outputs), {}
        for index, place in keys:
            value = graph.nodes[index].outputs[place]
            if value not in given:
                given[value] = _free(f"node {index} output {place}", taken)
                outputs.append((given[value], value))
            names[index, place] = given[value]
        return basalt.Model(graph.with_nodes(graph.nodes, outputs), self._model.constants, eager=False), names

    def average_bytes(self, dims: Mapping[str, int]) -> float:
        """The size of a result, on the average, for these sizes of symbolic dimensions."""
        sizes = [
            float(np.prod(cast("tuple[int, ...]", bind_shape(v.shape, dims)), dtype=np.float64))
            * np.dtype(numpy_dtype(v.dtype)).itemsize
            for node in self._model.graph.nodes
            for v in node.outputs
        ]
        return sum(sizes) / max(1, len(sizes))


class OnnxSource:
    """An ONNX model; the nodes are those of the main graph, bodies and functions stay closed."""

    def __init__(self, model: OnnxModel) -> None:
        from basalt.compiler.onnx.check import sorted_nodes

        self._model = model
        graph = model.graph
        nodes = [node for node in sorted_nodes(graph) if node.op_type not in _CONSTANTS]
        places = {name: (i, o) for i, node in enumerate(nodes) for o, name in enumerate(node.outputs) if name}
        constants = _constants(graph)

        def operand(name: str) -> Operand:
            return Operand(name, places.get(name), constants.get(name))

        self.nodes = tuple(
            NodeView(
                _operator(node),
                node.name,
                tuple(operand(name) if name else None for name in node.inputs),
                tuple(operand(name) for name in node.outputs),
            )
            for node in nodes
        )

    def observing(self, keys: Sequence[Key]) -> tuple[Any, dict[Key, str]]:
        names = {key: self.nodes[key[0]].outputs[key[1]].name for key in keys}
        graph = self._model.graph
        given = {value.name for value in graph.outputs}
        known = {value.name: value for value in graph.value_info}
        more = [known.get(name, OnnxValueInfo(name)) for name in dict.fromkeys(names.values()) if name not in given]
        return replace(self._model, graph=replace(graph, outputs=(*graph.outputs, *more))), names


def _constants(graph: OnnxGraph) -> dict[str, np.ndarray]:
    """The arrays of initialisers and of Constant nodes that hold a tensor."""
    arrays = {tensor.name: tensor.array() for tensor in graph.initializers}
    for node in graph.nodes:
        value = node.attributes["value"].value if node.op_type == "Constant" and "value" in node.attributes else None
        if value is not None:
            arrays[node.outputs[0]] = value.array()  # type: ignore[union-attr]
    return arrays


def _operator(node: OnnxNode) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
