"""``basalt.to_onnx`` and ``basalt.save_onnx``: core graphs as ONNX models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from basalt.errors import UnsupportedError, ValidationError
from basalt.serialization.onnx import OnnxGraph, OnnxModel

from ...executable import Executable
from ...ir import FUSED, Constants, Graph, Node, Value
from ...model import Model
from ..model import OnnxExecutable
from ..schemas import latest_opset
from .assemble import Names, assemble, live_calls, mark_main
from .node import NodeWriter
from .registry import exporter
from .sizes import Sizes
from .tensor import Call, Tensor
from .writer import GraphWriter

__all__ = ["DEFAULT_OPSET", "save_onnx", "to_onnx"]

DEFAULT_OPSET = 17
_OLDEST_OPSET = 17
_IR_VERSIONS = {17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 12, 25: 13, 26: 13, 27: 13, 28: 14}
"""The IR version that each opset was released with (onnx/docs/Versioning.md)."""
_SHOWN = 20
"""Faults that one message lists."""


def to_onnx(model: Any, *, opset: int = DEFAULT_OPSET, name: str | None = None) -> OnnxModel:
    """A model or built graph as an ONNX model, with equal results.

    Args:
        model: what ``basalt.load`` or ``MLGraphBuilder.build`` gave.
        opset: the version of ai.onnx to write, 17 or later.
        name: the graph's name; its own by default.

    Returns:
        The model; its weights share memory with ``model``'s. Inputs and outputs keep their names, data types and
        shapes, symbolic dimensions by name, labels become the nodes' names, a model's metadata stay.

    Raises:
        UnsupportedError: for what ONNX cannot say at this opset; the message lists every node.
        ValidationError: for anything but a model or graph, and for an opset out of range.
        InvalidStateError: for a destroyed graph.
    """
    newest = latest_opset()
    if isinstance(opset, bool) or not isinstance(opset, int) or not _OLDEST_OPSET <= opset <= newest:
        raise ValidationError(f"to_onnx: opset is {opset!r}, expected {_OLDEST_OPSET} to {newest}")
    if isinstance(model, OnnxExecutable):
        model = model.to_model()
    if not isinstance(model, Executable):
        raise ValidationError(f"to_onnx: got {type(model).__name__}, expected a model or a graph")
    model.check_usable("to_onnx")
    metadata = model.metadata if isinstance(model, Model) else {}
    return _Export(model.graph, model.constants, opset).model(name or model.name or "basalt", metadata)


def save_onnx(
    model: Any, path: str | os.PathLike[str], opset: int = DEFAULT_OPSET, external_data: str | None = None
) -> None:
    """Write a model or built graph to an ``.onnx`` file, as :func:`to_onnx` says it.

    Args:
        model: what ``basalt.load`` or ``MLGraphBuilder.build`` gave.
        path: the file, which appears under its name only when it is complete.
        opset: the version of ai.onnx to write.
        external_data: the name of a file in the same folder for the weights; required beyond 2**31 - 1 bytes.

    Raises:
        UnsupportedError, ValidationError, InvalidStateError: as :func:`to_onnx`, before anything is written;
            ValidationError also for a model that is too large.
        OSError: if the file cannot be written.
    """
    to_onnx(model, opset=opset).save(path, external_data)


class _Export:
    """One graph on its way."""

    def __init__(self, graph: Graph, constants: Constants, opset: int) -> None:
        self._graph = graph
        self._constants = constants
        self._writer = GraphWriter(opset)
        self._faults: list[str] = []
        self._tensors = {v: Tensor(self._bordering(v, f"input {v.name!r}"), v.name) for v in graph.inputs}
        self._by_key: dict[int, Tensor] = {}
        self._sizes = Sizes(self._writer, [(v, self._tensors[v]) for v in graph.inputs])
        self._once = _read_once(graph)
        self._bases = Names(())

    def model(self, name: str, metadata: Mapping[str, str]) -> OnnxModel:
        for index, node in enumerate(self._graph.nodes):
            self._write(index, node)
        outputs = [self._output(n, v) for n, v in self._graph.outputs]
        if self._faults:
            more = [f"and {len(self._faults) - _SHOWN} more"] if len(self._faults) > _SHOWN else []
            lines = "\n  ".join(self._faults[:_SHOWN] + more)
            raise UnsupportedError(f"the graph cannot be written as ONNX at opset {self._writer.opset}:\n  {lines}")
        from basalt import __version__

        graph = self._assemble(name, outputs)
        domains = dict.fromkeys(["", *(node.domain for node in graph.nodes)])
        return OnnxModel(
            graph=graph,
            opset_imports={domain: self._writer.opset_of(domain) for domain in domains},
            ir_version=_ir_version(self._writer.opset),
            producer_name="basalt",
            producer_version=__version__,
            metadata_props=dict(metadata),
        )

    def _assemble(self, name: str, outputs: Sequence[Tensor]) -> OnnxGraph:
        inputs = [self._tensors[v] for v in self._graph.inputs]
        names = Names([t.name for t in inputs] + [n for n, _ in self._graph.outputs])
        for t in inputs:
            names.fix(t, t.name)
        calls = self._writer.prologue + self._writer.calls
        made = {t for call in calls for t in call.outputs}
        final = []
        for (wanted, _), t in zip(self._graph.outputs, outputs):
            # An input, a constant, and what is an output already cannot take another name.
            is_input_itself = names.has(t) and names.of(t) == wanted
            if not is_input_itself and (names.has(t) or t not in made):
                copied = Tensor(t.dtype)
                calls.append(Call("Identity", (t,), (copied,), {}, wanted))
                t = copied
            names.fix(t, wanted)
            final.append(t)
        shapes = [v.shape for _, v in self._graph.outputs]
        kept = live_calls(calls, final)
        return assemble(
            name,
            kept,
            [(self._tensors[v], v.shape) for v in self._graph.inputs],
            list(zip(final, shapes)),
            names,
        )

    def _write(self, index: int, node: Node) -> None:
        self._writer.base = self._bases.free(node.label or f"{node.op}_{index}")
        start = len(self._writer.calls)
        try:
            results = self._exported(node)
        except (UnsupportedError, ValidationError) as error:
            self._faults.append(f"{node.op}{f' {node.label!r}' if node.label else f' (node {index})'}: {error}")
            results = [Tensor(self._writer.carrier(v.dtype)) for v in node.outputs]
        for value, tensor in zip(node.outputs, results):
            if value.name and not tensor.name and tensor.array is None:
                tensor.name = value.name
            self._tensors[value] = tensor
        mark_main(self._writer.calls[start:])

    def _exported(self, node: Node) -> list[Tensor]:
        function = exporter(node.op)
        if function is None or node.op == FUSED:
            raise UnsupportedError("ONNX has no such operator, nor a composition for it")
        inputs = [None if v is None else self._tensor(v) for v in node.inputs]
        made = function(NodeWriter(self._writer, self._sizes, node, inputs, self._once))
        results = [made] if isinstance(made, Tensor) else list(made)
        assert len(results) == len(node.outputs), f"the exporter of {node.op} gave {len(results)} tensors"
        return [self._writer.cast(t, v.dtype) for t, v in zip(results, node.outputs)]

    def _tensor(self, value: Value) -> Tensor:
        if value.constant is None:
            return self._tensors[value]
        if value.constant not in self._by_key:
            self._by_key[value.constant] = self._writer.constant(self._constants.array(value), value.name)
        return self._by_key[value.constant]

    def _output(self, name: str, value: Value) -> Tensor:
        tensor = self._tensor(value)
        self._bordering(value, f"output {name!r}")
        if any(v.name == name and v is not value for v in self._graph.inputs):
            self._faults.append(f"output {name!r}: an input has this name, and in ONNX both would be one value")
        return tensor

    def _bordering(self, value: Value, what: str) -> str:
        """The data type of an input or output, which must stay as it is."""
        carrier = self._writer.carrier(value.dtype)
        if carrier != value.dtype:
            self._faults.append(f"{what}: ONNX has {value.dtype} from opset 21 on")
        return carrier


def _read_once(graph: Graph) -> frozenset[Value]:
    """The constants that one node reads, and once."""
    counts: dict[int, int] = {}
    for v in (*(v for node in graph.nodes for v in node.present), *(v for _, v in graph.outputs)):
        if v.constant is not None:
            counts[v.constant] = counts.get(v.constant, 0) + 1
    return frozenset(v for v in graph.constants() if v.constant is not None and counts[v.constant] == 1)


def _ir_version(opset: int) -> int:
    return _IR_VERSIONS.get(opset, max(_IR_VERSIONS.values()))
