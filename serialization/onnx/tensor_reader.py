"""Reading tensors: which field holds the elements, and whether there are as many as the shape says."""

from __future__ import annotations

import math
from typing import Any

from .element_types import ElementType, element_type_by_code
from .external import ExternalFiles, location_problem
from .faults import Path, fault
from .message_reader import read_map, wire_notes
from .numbers import count_fixed, count_varints, int_tuple
from .schema import SPARSE_TENSOR, TENSOR
from .tensor import OnnxSparseTensor, OnnxTensor
from .tensor_data import ExternalData, FieldData, NoData, RawData, StringData, TensorData
from .wire import Reading, Span, read_merged

__all__ = ["element_type", "read_sparse_tensor", "read_tensor"]

_MAX_RANK = 64
_MAX_BYTES = (1 << 63) - 1
_TYPED = (
    (3, "float_data"),
    (4, "int32_data"),
    (5, "string_data"),
    (6, "int64_data"),
    (9, "double_data"),
    (10, "uint64_data"),
)


def element_type(code: int | None, path: Path, at: int) -> ElementType:
    """The element type of a TensorProto.DataType as the file states it."""
    kind = element_type_by_code(code or 0)
    if kind is None:
        raise fault(path, at, f"there is no data type {code}")
    return kind


def read_tensor(reading: Reading, spans: list[Span], path: Path) -> OnnxTensor:
    """The tensor in ``spans``. Raises ModelFormatError as :meth:`OnnxModel.load` says."""
    fields = read_merged(reading, spans, TENSOR, path)
    dims, code, segment, name, doc = fields[0], fields[1], fields[2], fields[7], fields[11]
    at = spans[0][0]
    if segment is not None:
        raise fault((path, "segment", None), segment[0][0], "tensors in several segments are not supported")
    kind = element_type(code, (path, "data_type", None), at)
    shape = int_tuple(reading.buffer, dims, (path, "dims", None))
    _check_dims(shape, kind, path, at)
    if fields[13] == 1:
        data: TensorData = _external_data(reading, fields, kind, shape, path, at)
    elif fields[13]:
        raise fault((path, "data_location", None), at, f"there is no data location {fields[13]}")
    else:
        data = _inner_data(reading, fields, kind, shape, path, at)
    notes = wire_notes(fields)
    metadata, notes = read_map(reading, fields[14], path, "metadata_props", notes)
    return OnnxTensor(name or "", kind.name, shape, data, doc or "", metadata, notes)


def _check_dims(shape: tuple[int, ...], kind: ElementType, path: Path, at: int) -> None:
    where: Path = (path, "dims", None)
    if len(shape) > _MAX_RANK:
        raise fault(where, at, f"a tensor of {len(shape)} dimensions; at most {_MAX_RANK} are possible")
    if shape and min(shape) < 0:
        raise fault(where, at, f"a negative size in {shape}")
    # Sizes of 0 do not excuse the others: NumPy and the compiler multiply these all the same.
    size = max(kind.numpy().itemsize, 1) if kind.code else 1
    for length in shape:
        size *= max(length, 1)
        if size > _MAX_BYTES:
            raise fault(where, at, f"the product of the sizes {shape} overflows")


def _inner_data(
    reading: Reading, fields: list[Any], kind: ElementType, shape: tuple[int, ...], path: Path, at: int
) -> TensorData:
    raw = fields[8]
    typed = [(slot, name) for slot, name in _TYPED if fields[slot] is not None and not _is_empty(name, fields[slot])]
    if fields[12] is not None:
        raise fault((path, "external_data", None), fields[12][0][0], "external data, but its location is not EXTERNAL")
    if len(typed) + (raw is not None and raw[0] < raw[1]) > 1:
        names = ", ".join([name for _, name in typed] + ["raw_data"] * (raw is not None and raw[0] < raw[1]))
        raise fault(path, at, f"elements in more than one field: {names}")
    if typed:
        if raw is not None:
            fields[-2] = (fields[-2] or set()) | {"raw_data"}
        return _field_data(reading, fields, typed[0], kind, shape, path)
    if raw is None:
        if kind.code and math.prod(shape):
            raise fault(path, at, f"no elements, but the shape {shape} needs {math.prod(shape)}")
        return NoData()
    if kind.name == "string":
        raise fault((path, "raw_data", None), raw[0], "strings cannot be in raw_data")
    needed = kind.raw_bytes(math.prod(shape))
    if kind.code and raw[1] - raw[0] != needed:
        what = f"{raw[1] - raw[0]} bytes, but {kind.name} elements of shape {shape} take {needed}"
        raise fault((path, "raw_data", None), raw[0], what)
    return RawData(reading.buffer, *raw)


def _is_empty(name: str, pieces: list[Any]) -> bool:
    """Whether a field is there without a value; an empty string is a value."""
    return name != "string_data" and all(isinstance(piece, tuple) and piece[0] == piece[1] for piece in pieces)


def _field_data(
    reading: Reading, fields: list[Any], field: tuple[int, str], kind: ElementType, shape: tuple[int, ...], path: Path
) -> TensorData:
    slot, name = field
    pieces = fields[slot]
    where: Path = (path, name, None)
    if name == "string_data":
        count = len(pieces)
        data: TensorData = StringData(reading.buffer, pieces, path)
    else:
        if name in ("float_data", "double_data"):
            count = count_fixed(pieces, 4 if name == "float_data" else 8, where)
        else:
            count = count_varints(reading.buffer, pieces, where)
        data = FieldData(reading.buffer, name, pieces, where)
    if kind.code == 0:
        return data
    first = pieces[0][0] if isinstance(pieces[0], tuple) else 0
    if name != kind.field:
        raise fault(where, first, f"elements of type {kind.name} belong in {kind.field} or raw_data")
    needed = kind.field_entries(math.prod(shape))
    if count != needed:
        raise fault(where, first, f"{count} entries, but {kind.name} elements of shape {shape} take {needed}")
    return data


def _external_data(
    reading: Reading, fields: list[Any], kind: ElementType, shape: tuple[int, ...], path: Path, at: int
) -> TensorData:
    where: Path = (path, "external_data", None)
    if fields[8] is not None and fields[8][0] < fields[8][1]:
        raise fault(path, at, "elements both in raw_data and in external data")
    if kind.bits == 0:
        raise fault(where, at, f"elements of type {kind.name} cannot be in external data")
    entries, _ = read_map(reading, fields[12], path, "external_data", None)
    problem = location_problem(entries.get("location", ""))
    if problem:
        raise fault(where, at, problem)
    if reading.folder is None:
        return ExternalData(entries, None, path)
    if reading.external is None:
        reading.external = ExternalFiles(reading.folder)
    needed = kind.raw_bytes(math.prod(shape))
    return ExternalData(entries, RawData(*reading.external.part(entries, needed, where, at)), path)


def read_sparse_tensor(reading: Reading, spans: list[Span], path: Path) -> OnnxSparseTensor:
    """The sparse tensor in ``spans``; whether its indices are in range is checked when it is made dense."""
    fields = read_merged(reading, spans, SPARSE_TENSOR, path)
    values, indices, dims = fields[:3]
    at = spans[0][0]
    if values is None or indices is None:
        raise fault(path, at, f"a sparse tensor without {'values' if values is None else 'indices'}")
    inner = read_tensor(reading, values, (path, "values", None))
    shape = int_tuple(reading.buffer, dims, (path, "dims", None))
    _check_dims(shape, element_type(0, path, at), path, at)
    return OnnxSparseTensor(
        inner, read_tensor(reading, indices, (path, "indices", None)), shape, notes=wire_notes(fields)
    )
