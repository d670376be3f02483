"""Writing tensors: elements in the field that they came from, or in raw_data, or in an external file."""

from __future__ import annotations

import sys

import numpy as np

from .element_types import ELEMENT_TYPES, ElementType
from .encoder import Chunk, Encoder
from .external_writer import ExternalLayout
from .subbyte import pack
from .tensor import OnnxSparseTensor, OnnxTensor
from .tensor_data import ArrayData, ExternalData, FieldData, NoData, RawData, StringData
from .varints import varint

__all__ = ["raw_bytes", "write_sparse_tensor", "write_tensor"]

_FIELD_NUMBERS = {"float_data": 4, "int32_data": 5, "int64_data": 7, "double_data": 10, "uint64_data": 11}


def raw_bytes(tensor: OnnxTensor) -> Chunk | None:
    """The elements as raw_data or an external file holds them, a view where possible; None if they cannot be there."""
    data: object = tensor.data
    if isinstance(data, ExternalData):
        data = data.raw
    if isinstance(data, RawData):
        return memoryview(data.buffer)[data.start : data.stop]
    kind = ELEMENT_TYPES.get(tensor.dtype)
    if kind is None or kind.bits == 0 or not isinstance(data, (ArrayData, FieldData)):
        return None
    return _little_endian(tensor.array(), kind)


def _little_endian(array: np.ndarray, kind: ElementType) -> Chunk:
    flat = np.ascontiguousarray(array).reshape(-1)
    if kind.bits < 8:
        return pack(flat.view(np.uint8), kind.bits).data
    unit = flat.dtype.itemsize // (2 if kind.entries == 2 else 1)
    octets = flat.view(np.dtype(f"u{unit}"))
    if sys.byteorder == "big":
        octets = octets.byteswap()
    return octets.view(np.uint8).data


def write_tensor(encoder: Encoder, tensor: OnnxTensor, layout: ExternalLayout | None = None) -> None:
    """Write the content of a TensorProto. Raises ValidationError if its array is not of its dtype and dims."""
    notes = tensor.notes
    kind = ELEMENT_TYPES.get(tensor.dtype)
    if kind is None:
        raise encoder.invalid("data_type", f"{tensor.dtype!r} is no element type")
    if isinstance(tensor.data, ArrayData):
        array = tensor.array()
        if array.shape != tuple(tensor.dims) or array.dtype != kind.numpy():
            raise encoder.invalid(
                "", f"the array is {array.dtype} of shape {array.shape}, stated as {tensor.dtype} of {tensor.dims}"
            )
    entries = None if layout is None else layout.entries(tensor)
    if entries is None and isinstance(tensor.data, ExternalData) and tensor.data.raw is None:
        entries = tensor.data.entries
    encoder.unknown(notes)
    encoder.mapping(16, tensor.metadata_props, "metadata_props", notes)
    if entries is not None:
        encoder.integer(14, 1, "data_location", None)
        encoder.mapping(13, entries, "external_data", None)
    elif notes is not None and "data_location" in notes.explicit:
        encoder.integer(14, 0, "data_location", notes)
    encoder.text(12, tensor.doc_string, "doc_string", notes)
    # The typed fields' numbers lie on both sides of the name's and raw_data's.
    field = 0 if entries is not None else _field_number(tensor)
    if field > 9:
        _write_elements(encoder, tensor, kind, field)
    if field == 9 or (notes is not None and "raw_data" in notes.explicit):
        encoder.octets(9, (raw_bytes(tensor) or b"") if field == 9 else b"")
    encoder.text(8, tensor.name, "name", notes)
    if 0 < field < 8:
        _write_elements(encoder, tensor, kind, field)
    encoder.integer(2, kind.code, "data_type", notes)
    encoder.integers(1, tensor.dims, "dims")


def _field_number(tensor: OnnxTensor) -> int:
    data = tensor.data
    if isinstance(data, FieldData):
        return _FIELD_NUMBERS[data.field]
    if isinstance(data, NoData):
        return 0
    return 6 if isinstance(data, StringData) or tensor.dtype == "string" else 9


def _write_elements(encoder: Encoder, tensor: OnnxTensor, kind: ElementType, number: int) -> None:
    data = tensor.data
    if isinstance(data, StringData):
        encoder.octet_list(6, [data.buffer[start:stop] for start, stop in data.spans])
    elif isinstance(data, FieldData):
        encoder.octets(number, b"".join(_packed(data)))
    else:
        encoder.texts(6, tensor.array().reshape(-1).tolist(), "string_data")


def _packed(data: FieldData) -> list[bytes]:
    return [
        piece
        if isinstance(piece, bytes)
        else b"".join(map(varint, piece))
        if isinstance(piece, list)
        else data.buffer[piece[0] : piece[1]]
        for piece in data.pieces
    ]


def write_sparse_tensor(encoder: Encoder, tensor: OnnxSparseTensor) -> None:
    """Write the content of a SparseTensorProto."""
    encoder.unknown(tensor.notes)
    encoder.integers(3, tensor.dims, "dims")
    for number, part in ((2, tensor.indices), (1, tensor.values)):
        mark = encoder.size
        write_tensor(encoder, part)
        encoder.close(number, mark)
