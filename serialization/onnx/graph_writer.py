"""Writing graphs, nodes, attributes and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .attribute_reader import ATTRIBUTE_KINDS
from .encoder import Encoder
from .external_writer import ExternalLayout
from .graph import OnnxAttribute, OnnxFunction, OnnxGraph, OnnxNode, OnnxQuantizationAnnotation
from .tensor import OnnxSparseTensor, OnnxTensor
from .tensor_writer import write_sparse_tensor, write_tensor
from .type_writer import write_type, write_value_info
from .value_type import OnnxType

__all__ = ["write_function", "write_graph", "write_messages", "write_opsets"]

# Kind of attribute -> number and name of the field that holds its value.
_FIELDS = {
    "FLOAT": (2, "f"),
    "INT": (3, "i"),
    "STRING": (4, "s"),
    "TENSOR": (5, "t"),
    "GRAPH": (6, "g"),
    "FLOATS": (7, "floats"),
    "INTS": (8, "ints"),
    "STRINGS": (9, "strings"),
    "TENSORS": (10, "tensors"),
    "GRAPHS": (11, "graphs"),
    "TYPE_PROTO": (14, "tp"),
    "TYPE_PROTOS": (15, "type_protos"),
    "SPARSE_TENSOR": (22, "sparse_tensor"),
    "SPARSE_TENSORS": (23, "sparse_tensors"),
}
_RECORDS = {"TENSOR": OnnxTensor, "GRAPH": OnnxGraph, "TYPE_PROTO": OnnxType, "SPARSE_TENSOR": OnnxSparseTensor}


def write_messages(
    encoder: Encoder, number: int, name: str, records: Sequence[Any], write: Callable[[Encoder, Any], None]
) -> None:
    """Write a repeated message field, each entry's content by ``write``."""
    outer = encoder.path
    for index in range(len(records) - 1, -1, -1):
        encoder.path = (outer, name, index)
        mark = encoder.size
        write(encoder, records[index])
        encoder.close(number, mark)
    encoder.path = outer


def write_opsets(encoder: Encoder, number: int, opsets: dict[str, int], notes: Any) -> None:
    """Write opset imports."""
    if encoder.original(number, "opset_import", opsets, notes):
        return
    for domain, version in reversed(tuple(opsets.items())):
        mark = encoder.size
        encoder.integers(2, (version,), "opset_import")
        encoder.octets(1, encoder.encoded(domain, "opset_import"))
        encoder.close(number, mark)


def write_graph(encoder: Encoder, graph: OnnxGraph, layout: ExternalLayout | None = None) -> None:
    """Write the content of a GraphProto; tensors that ``layout`` has placed are only referred to."""

    def tensor(encoder: Encoder, record: OnnxTensor) -> None:
        write_tensor(encoder, record, layout)

    def node(encoder: Encoder, record: OnnxNode) -> None:
        _write_node(encoder, record, layout)

    encoder.descend(3)
    notes = graph.notes
    encoder.unknown(notes)
    encoder.mapping(16, graph.metadata_props, "metadata_props", notes)
    write_messages(encoder, 15, "sparse_initializer", graph.sparse_initializers, write_sparse_tensor)
    write_messages(encoder, 14, "quantization_annotation", graph.quantization_annotations, _write_annotation)
    write_messages(encoder, 13, "value_info", graph.value_info, write_value_info)
    write_messages(encoder, 12, "output", graph.outputs, write_value_info)
    write_messages(encoder, 11, "input", graph.inputs, write_value_info)
    encoder.text(10, graph.doc_string, "doc_string", notes)
    write_messages(encoder, 5, "initializer", graph.initializers, tensor)
    encoder.text(2, graph.name, "name", notes)
    write_messages(encoder, 1, "node", graph.nodes, node)
    encoder.ascend(3)


def _write_annotation(encoder: Encoder, annotation: OnnxQuantizationAnnotation) -> None:
    encoder.unknown(annotation.notes)
    encoder.mapping(2, annotation.parameters, "quant_parameter_tensor_names", annotation.notes)
    encoder.text(1, annotation.tensor_name, "tensor_name", annotation.notes)


def _write_node(encoder: Encoder, node: OnnxNode, layout: ExternalLayout | None) -> None:
    notes = node.notes
    encoder.unknown(notes)
    for message in reversed(node.device_configurations):
        encoder.octets(10, message)
    encoder.mapping(9, node.metadata_props, "metadata_props", notes)
    encoder.text(8, node.overload, "overload", notes)
    if not encoder.original(7, "domain", node.domain, notes):
        encoder.text(7, node.domain, "domain", notes)
    encoder.text(6, node.doc_string, "doc_string", notes)
    _write_attributes(encoder, 5, node.attributes, layout)
    encoder.text(4, node.op_type, "op_type", notes)
    encoder.text(3, node.name, "name", notes)
    encoder.texts(2, node.outputs, "output")
    encoder.texts(1, node.inputs, "input")


def _write_attributes(
    encoder: Encoder, number: int, attributes: dict[str, OnnxAttribute], layout: ExternalLayout | None
) -> None:
    outer = encoder.path
    for key, attribute in reversed(tuple(attributes.items())):
        encoder.path = (outer, "attribute", key)
        if attribute.name != key:
            raise encoder.invalid("name", f"the attribute is named {attribute.name!r}")
        mark = encoder.size
        _write_attribute(encoder, attribute, layout)
        encoder.close(number, mark)
    encoder.path = outer


def _write_attribute(encoder: Encoder, attribute: OnnxAttribute, layout: ExternalLayout | None) -> None:
    notes = attribute.notes
    omitted = notes.omitted if notes is not None else ()
    code = ATTRIBUTE_KINDS.get(attribute.kind)
    if code is None:
        raise encoder.invalid("type", f"{attribute.kind!r} is no attribute type")
    number, name = _FIELDS.get(attribute.kind, (0, ""))
    if attribute.value is None:
        if not attribute.reference:
            raise encoder.invalid("", "neither a value nor a reference to another attribute")
        number = 0
    elif number == 0:
        raise encoder.invalid("type", "a value of undefined type")
    elif "value" in omitted and not attribute.value:
        number = 0
    encoder.unknown(notes)
    # The name, doc_string, type and reference lie among the fields for values.
    if number > 21:
        _write_value(encoder, number, name, attribute, layout)
    encoder.text(21, attribute.reference, "ref_attr_name", notes)
    encoder.integer(20, 0 if "type" in omitted else code, "type", notes)
    if 13 < number < 20:
        _write_value(encoder, number, name, attribute, layout)
    encoder.text(13, attribute.doc_string, "doc_string", notes)
    if 0 < number < 13:
        _write_value(encoder, number, name, attribute, layout)
    encoder.text(1, attribute.name, "name", notes)


def _write_value(
    encoder: Encoder, number: int, name: str, attribute: OnnxAttribute, layout: ExternalLayout | None
) -> None:
    value: Any = attribute.value
    kind = attribute.kind
    single = not kind.endswith("S")
    if single:
        value = (value,)
    elif not isinstance(value, (tuple, list)):
        raise encoder.invalid(name, f"{kind} needs a tuple, not {type(value).__name__}")
    match kind.removesuffix("S"):
        case "FLOAT":
            encoder.floats(number, value, name)
        case "INT":
            encoder.integers(number, value, name)
        case "STRING":
            encoder.octet_list(number, [_octets(encoder, text, name) for text in value])
        case record:
            _write_records(encoder, number, name, record, value, layout)


def _octets(encoder: Encoder, value: Any, name: str) -> bytes:
    if isinstance(value, str):
        return encoder.encoded(value, name)
    if not isinstance(value, bytes):
        raise encoder.invalid(name, f"a string is given as bytes or str, not {type(value).__name__}")
    return value


def _write_records(
    encoder: Encoder, number: int, name: str, kind: str, records: Sequence[Any], layout: ExternalLayout | None
) -> None:
    for record in records:
        if not isinstance(record, _RECORDS[kind]):
            raise encoder.invalid(name, f"{_RECORDS[kind].__name__} was expected, not {type(record).__name__}")

    def write(encoder: Encoder, record: Any) -> None:
        if kind == "GRAPH":
            write_graph(encoder, record, layout)
        elif kind == "TENSOR":
            write_tensor(encoder, record)
        elif kind == "TYPE_PROTO":
            write_type(encoder, record)
        else:
            write_sparse_tensor(encoder, record)

    write_messages(encoder, number, name, records, write)


def write_function(encoder: Encoder, function: OnnxFunction) -> None:
    """Write the content of a FunctionProto."""

    def node(encoder: Encoder, record: OnnxNode) -> None:
        _write_node(encoder, record, None)

    notes = function.notes
    encoder.unknown(notes)
    encoder.mapping(14, function.metadata_props, "metadata_props", notes)
    encoder.text(13, function.overload, "overload", notes)
    write_messages(encoder, 12, "value_info", function.value_info, write_value_info)
    _write_attributes(encoder, 11, function.attribute_protos, None)
    if not encoder.original(10, "domain", function.domain, notes):
        encoder.text(10, function.domain, "domain", notes)
    write_opsets(encoder, 9, function.opset_imports, notes)
    encoder.text(8, function.doc_string, "doc_string", notes)
    write_messages(encoder, 7, "node", function.nodes, node)
    encoder.texts(6, function.attributes, "attribute")
    encoder.texts(5, function.outputs, "output")
    encoder.texts(4, function.inputs, "input")
    encoder.text(1, function.name, "name", notes)
