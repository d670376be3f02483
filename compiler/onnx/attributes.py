"""A node's attributes in plain Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from basalt.errors import ModelFormatError
from basalt.serialization.onnx import ELEMENT_TYPES, OnnxNode

__all__ = ["decode_attributes", "dtype_of_code"]


def decode_attributes(node: OnnxNode, given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes by name: int, float, str, tuples of them, arrays for tensors, and graphs and types as they are.

    Args:
        node: the node.
        given: the attributes of the function around, which ``reference`` names; one that it lacks is left out.
    """
    decoded: dict[str, Any] = {}
    for name, attribute in node.attributes.items():
        if attribute.reference:
            if attribute.reference in given:
                decoded[name] = given[attribute.reference]
        else:
            decode = _DECODERS.get(attribute.kind)
            decoded[name] = decode(attribute.value) if decode else attribute.value
    return decoded


def dtype_of_code(code: int) -> str:
    """The data type of a TensorProto.DataType number.

    Raises:
        ModelFormatError: if there is none.
    """
    found = _codes().get(code)
    if found is None:
        raise ModelFormatError(f"{code} is no data type of ONNX")
    return found


def code_of_dtype(dtype: str) -> int:
    """The TensorProto.DataType number of a data type."""
    return ELEMENT_TYPES[dtype].code


def _text(value: bytes) -> str:
    # Text that is not UTF-8 is kept as it is: comparisons with it still work.
    return value.decode("utf-8", "surrogateescape")


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "STRING": _text,
    "STRINGS": lambda values: tuple(_text(v) for v in values),
    "TENSOR": lambda tensor: tensor.array(),
    "SPARSE_TENSOR": lambda tensor: tensor.array(),
    "TENSORS": lambda tensors: tuple(t.array() for t in tensors),
    "SPARSE_TENSORS": lambda tensors: tuple(t.array() for t in tensors),
}


@cache
def _codes() -> dict[int, str]:
    return {kind.code: name for name, kind in ELEMENT_TYPES.items()}
