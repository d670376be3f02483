"""Writing a whole model, in one piece or with its weights in an external file."""

from __future__ import annotations

from collections.abc import Iterator

from .element_types import ELEMENT_TYPES
from .encoder import Encoder
from .external_writer import ExternalLayout
from .graph import OnnxGraph
from .graph_writer import write_function, write_graph, write_messages, write_opsets
from .model import OnnxModel
from .tensor import OnnxTensor
from .tensor_writer import raw_bytes

__all__ = ["MAX_SIZE", "encode_model", "lay_out"]

MAX_SIZE = (1 << 31) - 1
"""The largest message, in bytes, that protobuf's own readers accept."""


def encode_model(model: OnnxModel, layout: ExternalLayout | None = None) -> Encoder:
    """The model's bytes. Raises ValidationError for records that ONNX cannot express and beyond 2**31 - 1 bytes."""
    encoder = Encoder()
    notes = model.notes
    encoder.unknown(notes)
    for message in reversed(model.configuration):
        encoder.octets(26, message)
    write_messages(encoder, 25, "functions", model.functions, write_function)
    for message in reversed(model.training_info):
        encoder.octets(20, message)
    encoder.mapping(14, model.metadata_props, "metadata_props", notes)
    write_opsets(encoder, 8, model.opset_imports, notes)
    if notes is None or "graph" not in notes.omitted or model.graph != OnnxGraph():
        outer, mark = encoder.path, encoder.size
        encoder.path = (outer, "graph", None)
        write_graph(encoder, model.graph, layout)
        encoder.close(7, mark)
        encoder.path = outer
    encoder.text(6, model.doc_string, "doc_string", notes)
    encoder.integer(5, model.model_version, "model_version", notes)
    encoder.text(4, model.domain, "domain", notes)
    encoder.text(3, model.producer_version, "producer_version", notes)
    encoder.text(2, model.producer_name, "producer_name", notes)
    encoder.integer(1, model.ir_version, "ir_version", notes)
    if encoder.size > MAX_SIZE:
        raise encoder.invalid(
            "",
            f"it takes {encoder.size} bytes, but protobuf's limit is {MAX_SIZE}; save it with external_data= to put "
            "the weights in a file of their own",
        )
    return encoder


def lay_out(model: OnnxModel, location: str, threshold: int) -> ExternalLayout:
    """Place the initialisers of at least ``threshold`` bytes, those of nested graphs too, in an external file."""
    layout = ExternalLayout(location)
    for tensor in _initializers(model.graph):
        kind = ELEMENT_TYPES.get(tensor.dtype)
        # Asked before the bytes are, since those of typed fields have to be decoded.
        if kind is None or kind.raw_bytes(tensor.size) < threshold:
            continue
        chunk = raw_bytes(tensor)
        if chunk is not None:
            layout.add(tensor, chunk)
    return layout


def _initializers(graph: OnnxGraph) -> Iterator[OnnxTensor]:
    graphs = [graph]
    visited: set[int] = set()
    while graphs:
        current = graphs.pop()
        # Records built by hand can contain themselves; the writer refuses them, but gets no turn if this never ends.
        if id(current) in visited:
            continue
        visited.add(id(current))
        yield from current.initializers
        for node in current.nodes:
            for attribute in node.attributes.values():
                value = attribute.value
                if isinstance(value, OnnxGraph):
                    graphs.append(value)
                elif isinstance(value, tuple):
                    graphs += [inner for inner in value if isinstance(inner, OnnxGraph)]
