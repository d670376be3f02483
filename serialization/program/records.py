"""Records: values by name. Attributes' codec (docs/bsl-format.md), with arrays, lists of values and records added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..attributes import MAX_NESTING, read_attribute, write_attribute
from ..dtypes import dtype_by_code

if TYPE_CHECKING:
    from ..graph_data import AttrValue
    from ..payload_reader import PayloadReader
    from ..payload_writer import PayloadWriter

__all__ = ["Record", "RecordValue", "read_record", "write_record"]

RecordValue: TypeAlias = "AttrValue | np.ndarray | list[RecordValue] | Mapping[str, RecordValue]"
"""An attribute's value, an array, a list of values (tuples are attributes), or a record."""
Record: TypeAlias = "Mapping[str, RecordValue]"

_ATTRIBUTE, _ARRAY, _LIST, _RECORD = range(4)
_MAX_RANK = 64


def write_record(writer: PayloadWriter, record: Record, depth: int = 0) -> None:
    """Write the values of a record in their order.

    Raises ValidationError, with the path of the field, for what the format cannot hold.
    """
    if depth == MAX_NESTING:
        writer.fail(f"records are nested more than {MAX_NESTING} levels deep")
    writer.varint(len(record))
    for name, value in record.items():
        with writer.field(name):
            writer.text(name)
            _write_value(writer, value, depth)


def _write_value(writer: PayloadWriter, value: RecordValue, depth: int) -> None:
    if isinstance(value, np.ndarray):
        _write_array(writer, value)
    elif isinstance(value, list):
        if depth == MAX_NESTING:
            writer.fail(f"lists are nested more than {MAX_NESTING} levels deep")
        writer.u8(_LIST)
        writer.varint(len(value))
        for index, item in enumerate(value):
            with writer.field("", index):
                _write_value(writer, item, depth + 1)
    elif isinstance(value, Mapping):
        writer.u8(_RECORD)
        write_record(writer, value, depth + 1)
    else:
        writer.u8(_ATTRIBUTE)
        write_attribute(writer, value)


def _write_array(writer: PayloadWriter, array: np.ndarray) -> None:
    writer.u8(_ARRAY)
    writer.u8(writer.dtype_of(array).code)
    writer.varint(array.ndim)
    for size in array.shape:
        writer.varint(size)
    writer.array(array)


def read_record(reader: PayloadReader, depth: int = 0) -> dict[str, RecordValue]:
    """Read what :func:`write_record` wrote. Raises ModelFormatError, with offset and field, for other bytes."""
    start = reader.position
    if depth == MAX_NESTING:
        reader.fail(f"records are nested more than {MAX_NESTING} levels deep")
    record: dict[str, RecordValue] = {}
    for _ in range(reader.count(3)):
        name = reader.text()
        if name in record:
            reader.fail(f"the field {name!r} is given twice", start)
        with reader.field(name):
            record[name] = _read_value(reader, depth)
    return record


def _read_value(reader: PayloadReader, depth: int) -> RecordValue:
    start = reader.position
    tag = reader.u8()
    if tag == _ATTRIBUTE:
        return read_attribute(reader)
    if tag == _ARRAY:
        return _read_array(reader)
    if tag == _RECORD:
        return read_record(reader, depth + 1)
    if tag != _LIST:
        reader.fail(f"unknown tag {tag} of a value, expected 0 to {_RECORD}", start)
    if depth == MAX_NESTING:
        reader.fail(f"lists are nested more than {MAX_NESTING} levels deep", start)
    items: list[RecordValue] = []
    for index in range(reader.count(2)):
        with reader.field("", index):
            items.append(_read_value(reader, depth + 1))
    return items


def _read_array(reader: PayloadReader) -> np.ndarray:
    start = reader.position
    dtype = dtype_by_code(reader.u8())
    if dtype is None:
        reader.fail("unknown data type of an array", start)
    rank = reader.count()
    if rank > _MAX_RANK:
        reader.fail(f"an array of rank {rank}, expected at most {_MAX_RANK}", start)
    shape = tuple([reader.varint() for _ in range(rank)])
    if max(shape, default=0) >= 1 << 63:
        reader.fail(f"an array of shape {shape}", start)
    return reader.array(dtype, shape)
