"""Records of an ONNX graph: plain data that the codec reads and writes, and that is easily built by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from .tensor import OnnxSparseTensor, OnnxTensor
from .value_type import OnnxType, OnnxValueInfo
from .wire_notes import WireNotes

__all__ = [
    "AttributeValue",
    "OnnxAttribute",
    "OnnxFunction",
    "OnnxGraph",
    "OnnxNode",
    "OnnxQuantizationAnnotation",
]

AttributeValue: TypeAlias = (
    "float | int | bytes | OnnxTensor | OnnxGraph | OnnxSparseTensor | OnnxType | tuple[float, ...] | tuple[int, ...]"
    " | tuple[bytes, ...] | tuple[OnnxTensor, ...] | tuple[OnnxGraph, ...] | tuple[OnnxSparseTensor, ...]"
    " | tuple[OnnxType, ...] | None"
)


@dataclass(slots=True)
class OnnxAttribute:
    """An attribute of a node, or a default of a function's attribute (AttributeProto).

    ``kind`` is "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "SPARSE_TENSOR", "TYPE_PROTO" or the plural of one of
    them ("FLOATS", "TYPE_PROTOS", ...), whose value is a tuple. Inside a function, ``reference`` names the function's
    attribute that gives the value; then ``value`` is None, and ``kind`` may be "UNDEFINED" in files that omit it.
    """

    name: str
    kind: str
    value: AttributeValue = None
    reference: str = ""
    doc_string: str = ""
    notes: WireNotes | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class OnnxNode:
    """A call of an operator or function (NodeProto).

    ``inputs`` and ``outputs`` name values; "" stands for an optional one that is absent. ``domain`` is "" for ai.onnx.
    ``device_configurations`` holds the encoded NodeDeviceConfigurationProto messages as they stand in the file.
    """

    op_type: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: dict[str, OnnxAttribute] = field(default_factory=dict)
    domain: str = ""
    name: str = ""
    overload: str = ""
    doc_string: str = ""
    metadata_props: dict[str, str] = field(default_factory=dict)
    device_configurations: tuple[bytes, ...] = ()
    notes: WireNotes | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class OnnxQuantizationAnnotation:
    """Names of the tensors that hold a value's quantisation parameters (TensorAnnotation): key -> tensor name."""

    tensor_name: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    notes: WireNotes | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class OnnxGraph:
    """A graph: the model's own, or a branch or body in an attribute (GraphProto)."""

    name: str = ""
    nodes: tuple[OnnxNode, ...] = ()
    inputs: tuple[OnnxValueInfo, ...] = ()
    outputs: tuple[OnnxValueInfo, ...] = ()
    initializers: tuple[OnnxTensor, ...] = ()
    sparse_initializers: tuple[OnnxSparseTensor, ...] = ()
    value_info: tuple[OnnxValueInfo, ...] = ()
    doc_string: str = ""
    metadata_props: dict[str, str] = field(default_factory=dict)
    quantization_annotations: tuple[OnnxQuantizationAnnotation, ...] = ()
    notes: WireNotes | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class OnnxFunction:
    """A function that the model defines (FunctionProto).

    ``attributes`` names the attributes without a default, ``attribute_protos`` holds those with one.
    """

    name: str
    domain: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    nodes: tuple[OnnxNode, ...] = ()
    attributes: tuple[str, ...] = ()
    attribute_protos: dict[str, OnnxAttribute] = field(default_factory=dict)
    opset_imports: dict[str, int] = field(default_factory=dict)
    overload: str = ""
    doc_string: str = ""
    value_info: tuple[OnnxValueInfo, ...] = ()
    metadata_props: dict[str, str] = field(default_factory=dict)
    notes: WireNotes | None = field(default=None, compare=False, repr=False)
