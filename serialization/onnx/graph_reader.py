"""Reading graphs, nodes and functions."""

from __future__ import annotations

from .attribute_reader import read_attribute
from .faults import Path, fault
from .graph import OnnxAttribute, OnnxFunction, OnnxGraph, OnnxNode, OnnxQuantizationAnnotation
from .message_reader import read_domain, read_map, read_opsets, wire_notes
from .schema import ANNOTATION, FUNCTION, GRAPH, NODE
from .tensor_reader import read_sparse_tensor, read_tensor
from .type_reader import read_value_info
from .value_type import OnnxValueInfo
from .wire import Reading, Span, read_fields, read_merged

__all__ = ["read_function", "read_graph"]


def read_graph(reading: Reading, spans: list[Span], path: Path) -> OnnxGraph:
    """The graph in ``spans``."""
    # A graph, its nodes and their attributes are three levels of messages.
    reading.descend(3, path, spans[0][0])
    fields = read_merged(reading, spans, GRAPH, path)
    metadata, notes = read_map(reading, fields[9], path, "metadata_props", wire_notes(fields))
    graph = OnnxGraph(
        fields[1] or "",
        _nodes(reading, fields[0], path),
        _values(reading, fields[4], path, "input"),
        _values(reading, fields[5], path, "output"),
        tuple(read_tensor(reading, [span], (path, "initializer", index)) for index, span in enumerate(fields[2] or ())),
        tuple(
            read_sparse_tensor(reading, [span], (path, "sparse_initializer", index))
            for index, span in enumerate(fields[8] or ())
        ),
        _values(reading, fields[6], path, "value_info"),
        fields[3] or "",
        metadata,
        tuple(
            _annotation(reading, span, (path, "quantization_annotation", index))
            for index, span in enumerate(fields[7] or ())
        ),
        notes,
    )
    reading.depth -= 3
    return graph


def _values(reading: Reading, spans: list[Span] | None, path: Path, name: str) -> tuple[OnnxValueInfo, ...]:
    return tuple(
        read_value_info(reading, pos, end, (path, name, index)) for index, (pos, end) in enumerate(spans or ())
    )


def _annotation(reading: Reading, span: Span, path: Path) -> OnnxQuantizationAnnotation:
    fields = read_fields(reading, *span, ANNOTATION, path)
    parameters, notes = read_map(reading, fields[1], path, "quant_parameter_tensor_names", wire_notes(fields))
    return OnnxQuantizationAnnotation(fields[0] or "", parameters, notes)


def _nodes(reading: Reading, spans: list[Span] | None, path: Path) -> tuple[OnnxNode, ...]:
    return tuple(_node(reading, pos, end, (path, "node", index)) for index, (pos, end) in enumerate(spans or ()))


def _node(reading: Reading, pos: int, end: int, path: Path) -> OnnxNode:
    fields = read_fields(reading, pos, end, NODE, path)
    inputs, outputs, name, op_type, attributes, doc, domain, overload, metadata, devices, explicit, unknown = fields
    found = {} if attributes is None else read_attributes(reading, attributes, path)
    node = OnnxNode(
        op_type or "",
        () if inputs is None else tuple(inputs),
        () if outputs is None else tuple(outputs),
        found,
        domain or "",
        name or "",
        overload or "",
        doc or "",
    )
    if explicit is not None or unknown is not None:
        node.notes = wire_notes(fields)
    if domain == "ai.onnx":
        node.domain, node.notes = read_domain(domain, node.notes)
    if metadata is not None:
        node.metadata_props, node.notes = read_map(reading, metadata, path, "metadata_props", node.notes)
    if devices is not None:
        node.device_configurations = tuple(reading.buffer[start:stop] for start, stop in devices)
    return node


def read_attributes(reading: Reading, spans: list[Span], path: Path) -> dict[str, OnnxAttribute]:
    """The attributes of a node or function by name. Raises ModelFormatError if two have the same name."""
    attributes: dict[str, OnnxAttribute] = {}
    for index, (pos, end) in enumerate(spans):
        attribute = read_attribute(reading, pos, end, path, index, read_graph)
        if attribute.name in attributes:
            raise fault((path, "attribute", index), pos, f"a second attribute of name {attribute.name!r}")
        attributes[attribute.name] = attribute
    return attributes


def read_function(reading: Reading, span: Span, path: Path) -> OnnxFunction:
    """The function in ``span``."""
    fields = read_fields(reading, *span, FUNCTION, path)
    notes = wire_notes(fields)
    domain, notes = read_domain(fields[7], notes)
    opsets, notes = read_opsets(reading, fields[6], path, notes)
    metadata, notes = read_map(reading, fields[11], path, "metadata_props", notes)
    return OnnxFunction(
        fields[0] or "",
        domain,
        tuple(fields[1] or ()),
        tuple(fields[2] or ()),
        _nodes(reading, fields[4], path),
        tuple(fields[3] or ()),
        read_attributes(reading, fields[8] or [], path),
        opsets,
        fields[10] or "",
        fields[5] or "",
        _values(reading, fields[9], path, "value_info"),
        metadata,
        notes,
    )
