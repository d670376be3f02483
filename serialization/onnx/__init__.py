"""ONNX models as plain data: our own reader and writer of the protobuf format, without a protobuf runtime."""

from __future__ import annotations

from .element_types import ELEMENT_TYPES, UNDEFINED, ElementType
from .engine import register_engine
from .graph import (
    AttributeValue,
    OnnxAttribute,
    OnnxFunction,
    OnnxGraph,
    OnnxNode,
    OnnxQuantizationAnnotation,
)
from .model import OnnxModel
from .tensor import OnnxSparseTensor, OnnxTensor
from .value_type import Dim, OnnxType, OnnxValueInfo

__all__ = [
    "ELEMENT_TYPES",
    "UNDEFINED",
    "AttributeValue",
    "Dim",
    "ElementType",
    "OnnxAttribute",
    "OnnxFunction",
    "OnnxGraph",
    "OnnxModel",
    "OnnxNode",
    "OnnxQuantizationAnnotation",
    "OnnxSparseTensor",
    "OnnxTensor",
    "OnnxType",
    "OnnxValueInfo",
    "register_engine",
]
