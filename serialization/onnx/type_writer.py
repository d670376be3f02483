"""Writing declared types and named values."""

from __future__ import annotations

from .element_types import ELEMENT_TYPES
from .encoder import Encoder
from .value_type import OnnxType, OnnxValueInfo

__all__ = ["write_type", "write_value_info"]

_NUMBERS = {"tensor": 1, "sequence": 4, "map": 5, "opaque": 7, "sparse_tensor": 8, "optional": 9}


def write_value_info(encoder: Encoder, value: OnnxValueInfo) -> None:
    """Write the content of a ValueInfoProto."""
    encoder.unknown(value.notes)
    encoder.mapping(4, value.metadata_props, "metadata_props", value.notes)
    encoder.text(3, value.doc_string, "doc_string", value.notes)
    if value.type is not None:
        mark = encoder.size
        write_type(encoder, value.type)
        encoder.close(2, mark)
    encoder.text(1, value.name, "name", value.notes)


def write_type(encoder: Encoder, value: OnnxType) -> None:
    """Write the content of a TypeProto. Raises ValidationError for an unknown kind or element type."""
    if value.encoded is not None:
        encoder.put(value.encoded)
        return
    encoder.descend(2)
    number = _NUMBERS.get(value.kind)
    if number is None and value.kind != "none":
        raise encoder.invalid("type", f"{value.kind!r} is no kind of type")
    # The denotation's number, 6, lies among those of the kinds.
    if number is not None and number > 6:
        _write_member(encoder, value, number)
    encoder.text(6, value.denotation, "denotation", None)
    if number is not None and number < 6:
        _write_member(encoder, value, number)
    encoder.ascend(2)


def _write_member(encoder: Encoder, value: OnnxType, number: int) -> None:
    mark = encoder.size
    if value.kind == "opaque":
        encoder.text(2, value.opaque_name, "name", None)
        encoder.text(1, value.opaque_domain, "domain", None)
    elif value.kind in ("tensor", "sparse_tensor"):
        _write_shape(encoder, value)
        _write_element_type(encoder, value.dtype)
    else:
        if value.element is not None:
            inner = encoder.size
            write_type(encoder, value.element)
            encoder.close(2 if value.kind == "map" else 1, inner)
        if value.kind == "map":
            _write_element_type(encoder, value.key_dtype)
    encoder.close(number, mark)


def _write_element_type(encoder: Encoder, dtype: str) -> None:
    kind = ELEMENT_TYPES.get(dtype)
    if kind is None:
        raise encoder.invalid("type", f"{dtype!r} is no element type")
    encoder.integer(1, kind.code, "elem_type", None)


def _write_shape(encoder: Encoder, value: OnnxType) -> None:
    if value.shape is None:
        return
    shape = encoder.size
    names = value.dim_denotations or ("",) * len(value.shape)
    if len(names) != len(value.shape):
        raise encoder.invalid("type", f"{len(names)} denotations for the {len(value.shape)} dimensions")
    for size, name in zip(reversed(value.shape), reversed(names)):
        mark = encoder.size
        encoder.text(3, name, "denotation", None)
        if isinstance(size, str):
            encoder.text(2, size, "dim_param", None)
        elif size is not None:
            encoder.integers(1, (size,), "dim_value")
        encoder.close(1, mark)
    encoder.close(2, shape)
