"""Attribute values of a graph's nodes: one tag byte, then the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .graph_data import AttrValue
    from .payload_reader import PayloadReader
    from .payload_writer import PayloadWriter

__all__ = ["MAX_NESTING", "read_attribute", "write_attribute"]

MAX_NESTING = 16
"""Levels of tuples that an attribute may have; decoding recurses once a level."""

_NONE, _FALSE, _TRUE, _INT, _UNSIGNED, _FLOAT, _TEXT, _BYTES, _TUPLE, _INT_TUPLE = range(10)


def write_attribute(writer: PayloadWriter, value: AttrValue, depth: int = 0) -> None:
    """Write ``value``; fails on types outside :data:`AttrValue`, on integers beyond 64 bits, on deep nesting."""
    if value is None or value is False or value is True:
        writer.u8(_NONE if value is None else _TRUE if value else _FALSE)
    elif isinstance(value, int):
        writer.u8(_INT if value < 1 << 63 else _UNSIGNED)
        (writer.zigzag if value < 1 << 63 else writer.varint)(value)
    elif isinstance(value, float):
        writer.u8(_FLOAT)
        writer.float64(value)
    elif isinstance(value, str):
        writer.u8(_TEXT)
        writer.text(value)
    elif isinstance(value, bytes):
        writer.u8(_BYTES)
        writer.blob(value)
    elif isinstance(value, tuple):
        _write_tuple(writer, value, depth)
    else:
        writer.fail(f"an attribute must be None, bool, int, float, str, bytes or a tuple, not {type(value).__name__}")


def _write_tuple(writer: PayloadWriter, items: tuple[AttrValue, ...], depth: int) -> None:
    if depth == MAX_NESTING:
        writer.fail(f"tuples are nested more than {MAX_NESTING} levels deep")
    # Strides, paddings, axes: most tuples hold small integers only, and then need one tag for all.
    if items and all(type(item) is int and -(1 << 63) <= item < 1 << 63 for item in items):
        writer.u8(_INT_TUPLE)
        writer.varint(len(items))
        for item in items:
            writer.zigzag(item)  # type: ignore[arg-type]
        return
    writer.u8(_TUPLE)
    writer.varint(len(items))
    for index, item in enumerate(items):
        with writer.field("", index):
            write_attribute(writer, item, depth + 1)


def read_attribute(reader: PayloadReader, depth: int = 0) -> AttrValue:
    """Read what :func:`write_attribute` wrote."""
    start = reader.position
    tag = reader.u8()
    if tag <= _TRUE:
        return None if tag == _NONE else tag == _TRUE
    if tag == _INT:
        return reader.zigzag()
    if tag == _UNSIGNED:
        value = reader.varint()
        if value < 1 << 63:
            reader.fail(f"{value} is stored as an unsigned integer, but fits a signed one", start)
        return value
    if tag == _FLOAT:
        return reader.float64()
    if tag == _TEXT:
        return reader.text()
    if tag == _BYTES:
        return reader.blob()
    if tag in (_TUPLE, _INT_TUPLE):
        return _read_tuple(reader, tag, start, depth)
    reader.fail(f"unknown attribute tag {tag}, expected 0 to {_INT_TUPLE}", start)


def _read_tuple(reader: PayloadReader, tag: int, start: int, depth: int) -> tuple[AttrValue, ...]:
    if depth == MAX_NESTING:
        reader.fail(f"tuples are nested more than {MAX_NESTING} levels deep", start)
    count = reader.count()
    if tag == _INT_TUPLE:
        return tuple([reader.zigzag() for _ in range(count)])
    items = []
    for index in range(count):
        with reader.field("", index):
            items.append(read_attribute(reader, depth + 1))
    return tuple(items)
