"""The protobuf wire format: a table-driven reader of one message's fields.

Source: https://protobuf.dev/programming-guides/encoding/. Nested messages are returned as spans of the buffer, so that
nothing here recurses, nothing is copied but text, and a message that stands in several pieces is merged by reading one
piece after the other, as protobuf prescribes.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import numpy as np

from .faults import Path, fault
from .varints import Buffer, read_varint, tagged_varints

__all__ = [
    "MAX_DEPTH",
    "Fields",
    "Reading",
    "Span",
    "Table",
    "read_fields",
    "read_merged",
    "skip_field",
]

Span: TypeAlias = tuple[int, int]
"""Start and end of a piece of the buffer."""

Fields: TypeAlias = list[Any]
"""Values of a message by slot, None where absent; the last two are the names of explicit defaults, unknown fields."""

# Operations, those on length-delimited fields first.
TEXTS, TEXT, SPANS, PACKED, SPAN, INT, FLOAT, INTS, FIXED32S, FIXED64S = range(10)

_WIRE_TYPES = ("varint", "64 bits", "length-delimited", "start of a group", "end of a group", "32 bits", "6", "7")
_MAX_NUMBER = (1 << 29) - 1
_MAX_GROUPS = 100
MAX_DEPTH = 100
"""Levels of nested messages that protobuf's own readers accept."""
# After so many unpacked numbers of one field it pays to look for more by NumPy.
_SHORT_RUN = 16
_FLOAT32 = struct.Struct("<f")

# Declared kind of a field -> the operations by the wire type that it may have.
_OPERATIONS = {
    "texts": {2: TEXTS},
    "messages": {2: SPANS},
    "text": {2: TEXT},
    "bytes": {2: SPAN},
    "int": {0: INT},
    "float": {5: FLOAT},
    "ints": {0: INTS, 2: PACKED},
    "floats": {5: FIXED32S, 2: PACKED},
    "doubles": {1: FIXED64S, 2: PACKED},
}


class Table:
    """The fields of a message type. A field's slot is its place in the declaration.

    Kinds: "text", "bytes", "int", "float" (the last one in the file counts), "texts", "ints", "floats", "doubles"
    (repeated, packed or not), and "messages": repeated messages or bytes, and single messages, as spans.
    """

    __slots__ = ("empty", "names", "operations", "slots")

    def __init__(self, *fields: tuple[int, str, str]) -> None:
        self.names = tuple(name for _, name, _ in fields)
        self.slots = {number: slot for slot, (number, _, _) in enumerate(fields)}
        self.operations = {
            number << 3 | wire_type: (operation, slot)
            for slot, (number, _, kind) in enumerate(fields)
            for wire_type, operation in _OPERATIONS[kind].items()
        }
        self.empty: Fields = [None] * (len(fields) + 2)


class Reading:
    """One file being read: its buffer, and what is shared by equal pieces of it."""

    __slots__ = ("buffer", "depth", "external", "folder", "name", "texts", "types")

    def __init__(self, buffer: Buffer, name: str, folder: str | None) -> None:
        self.buffer = buffer
        self.name = name
        self.folder = folder
        self.texts: dict[bytes, str] = {}
        self.types: dict[bytes, Any] = {}
        self.external: Any = None
        self.depth = 0

    def descend(self, levels: int, path: Path, at: int) -> None:
        """Enter a message that may contain itself. Raises ModelFormatError beyond the depth that protobuf allows."""
        self.depth += levels
        if self.depth > MAX_DEPTH:
            raise fault(path, at, f"messages nested more than {MAX_DEPTH} deep")


def read_merged(reading: Reading, spans: list[Span], table: Table, path: Path) -> Fields:
    """The fields of one message that stands in several pieces: later values win, lists grow, messages merge."""
    fields = table.empty.copy()
    for pos, end in spans:
        read_fields(reading, pos, end, table, path, fields)
    return fields


def read_fields(reading: Reading, pos: int, end: int, table: Table, path: Path, into: Fields | None = None) -> Fields:
    """The fields of the message in ``[pos, end)``, which lies within the buffer, by slot.

    Lists of "texts" hold str, of "messages" spans; lists of numbers hold pieces for :mod:`.numbers`: a span of packed
    values, a list of ints or bytes of little-endian values.

    Raises ModelFormatError for anything that is not well-formed at this level, and for known fields of a wrong wire
    type. This is the loop that reading time goes into, hence one long function.
    """
    buffer = reading.buffer
    texts = reading.texts
    operations = table.operations
    fields = table.empty.copy() if into is None else into
    start = pos
    try:
        while pos < end:
            start = pos
            tag = buffer[pos]
            pos += 1
            if tag > 127:
                tag, pos = read_varint(buffer, start, end, path)
            entry = operations.get(tag)
            if entry is None:
                pos = _keep_unknown(buffer, start, pos, end, tag, table, path, fields)
                continue
            operation, slot = entry
            if operation <= SPAN:
                size = buffer[pos]
                pos += 1
                if size > 127:
                    size, pos = read_varint(buffer, pos - 1, end, path)
                stop = pos + size
                if stop > end:
                    raise _too_long(table, slot, path, start, size, end - pos)
                if operation <= TEXT:
                    raw = buffer[pos:stop]
                    value: Any = texts.get(raw)
                    if value is None:
                        value = texts[raw] = _decode(raw, table, slot, path, pos)
                    pos = stop
                    if operation == TEXT:
                        fields[slot] = value
                        if size == 0:
                            _note_explicit(fields, table.names[slot])
                        continue
                elif operation == SPANS:
                    pos = _span_run(buffer, pos, stop, end, tag, slot, fields)
                    continue
                else:
                    value = (pos, stop)
                    pos = stop
                    if operation == SPAN:
                        fields[slot] = value
                        continue
            elif operation == INT:
                number = buffer[pos]
                pos += 1
                if number > 127:
                    number, pos = read_varint(buffer, pos - 1, end, path)
                if number == 0:
                    _note_explicit(fields, table.names[slot])
                fields[slot] = number if number < 0x8000000000000000 else number - 0x10000000000000000
                continue
            elif operation == INTS:
                value, pos = _int_run(buffer, pos, end, tag, path)
            elif operation == FLOAT:
                fields[slot] = _FLOAT32.unpack(_fixed(buffer, pos, end, 4, path))[0]
                pos += 4
                continue
            else:
                value, pos = _fixed_run(buffer, pos, end, tag, 4 if operation == FIXED32S else 8, path)
            values = fields[slot]
            if values is None:
                fields[slot] = [value]
            else:
                values.append(value)
    except IndexError:
        raise fault(path, start, "the field is cut off by the end of the file") from None
    if pos > end:
        raise fault(path, start, f"the field ends {pos - end} bytes after its message")
    return fields


def _span_run(buffer: Buffer, pos: int, stop: int, end: int, tag: int, slot: int, fields: Fields) -> int:
    """Take the span and those after it that have the same one-byte tag and a length below 128.

    What else follows, faults included, is the caller's, which goes on from the position returned.
    """
    spans = fields[slot]
    if spans is None:
        spans = fields[slot] = []
    spans.append((pos, stop))
    # The last place where a tag and a length fit; none for tags of two bytes.
    last = end - 2 if tag < 128 else -1
    while stop <= last and buffer[stop] == tag:
        size = buffer[stop + 1]
        pos = stop + 2
        if size > 127 or pos + size > end:
            break
        stop = pos + size
        spans.append((pos, stop))
    return stop


def _too_long(table: Table, slot: int, path: Path, start: int, size: int, room: int) -> Exception:
    inner: Path = (path, table.names[slot], None)
    return fault(inner, start, f"a length of {size} bytes where the message has {max(room, 0)} left")


def _decode(raw: bytes, table: Table, slot: int, path: Path, pos: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        inner: Path = (path, table.names[slot], None)
        raise fault(inner, pos + error.start, f"the text is no valid UTF-8 ({error.reason})") from None


def _note_explicit(fields: Fields, name: str) -> None:
    if fields[-2] is None:
        fields[-2] = {name}
    else:
        fields[-2].add(name)


def _keep_unknown(
    buffer: Buffer, start: int, pos: int, end: int, tag: int, table: Table, path: Path, fields: Fields
) -> int:
    slot = table.slots.get(tag >> 3)
    if slot is not None:
        inner: Path = (path, table.names[slot], None)
        raise fault(inner, start, f"the field is of wire type {tag & 7} ({_WIRE_TYPES[tag & 7]}), which it cannot be")
    pos = skip_field(buffer, start, pos, end, tag, path)
    if fields[-1] is None:
        fields[-1] = []
    fields[-1].append(buffer[start:pos])
    return pos


def skip_field(buffer: Buffer, start: int, pos: int, end: int, tag: int, path: Path) -> int:
    """The end of the field whose tag stands at ``start`` and whose content starts at ``pos``; groups included."""
    groups: list[int] = []
    while True:
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number <= _MAX_NUMBER:
            raise fault(path, start, f"there is no field number {number}")
        if wire_type == 3:
            if len(groups) == _MAX_GROUPS:
                raise fault(path, start, f"groups nested more than {_MAX_GROUPS} deep")
            groups.append(number)
        elif wire_type == 4:
            if not groups or groups.pop() != number:
                raise fault(path, start, f"end of a group {number} that was not started")
        else:
            pos = _skip_scalar(buffer, start, pos, end, wire_type, path)
        if not groups:
            return pos
        start = pos
        tag, pos = read_varint(buffer, pos, end, path)


def _skip_scalar(buffer: Buffer, start: int, pos: int, end: int, wire_type: int, path: Path) -> int:
    if wire_type == 0:
        return read_varint(buffer, pos, end, path)[1]
    if wire_type == 2:
        size, pos = read_varint(buffer, pos, end, path)
    elif wire_type == 1 or wire_type == 5:
        size = 8 if wire_type == 1 else 4
    else:
        raise fault(path, start, f"there is no wire type {wire_type}")
    if size > end - pos:
        raise fault(path, start, f"a length of {size} bytes where the message has {end - pos} left")
    return pos + size


def _fixed(buffer: Buffer, pos: int, end: int, width: int, path: Path) -> bytes:
    if pos + width > end:
        raise fault(path, pos, "the number is cut off by the end of the message")
    return buffer[pos : pos + width]


def _int_run(buffer: Buffer, pos: int, end: int, tag: int, path: Path) -> tuple[list[int], int]:
    """The number at ``pos`` and those after it that have the same one-byte tag."""
    numbers: list[int] = []
    while True:
        number, pos = read_varint(buffer, pos, end, path)
        numbers.append(number)
        if pos >= end or buffer[pos] != tag:
            return numbers, pos
        if len(numbers) % _SHORT_RUN == 0:
            more, pos = tagged_varints(buffer, pos, end, tag, path)
            numbers += more
            if pos >= end or buffer[pos] != tag:
                return numbers, pos
        pos += 1


def _fixed_run(buffer: Buffer, pos: int, end: int, tag: int, width: int, path: Path) -> tuple[bytes, int]:
    """The values of the field at ``pos`` and of those after it that have the same one-byte tag, side by side.

    Looks at blocks that double in length while they fit, so that a file that alternates tags costs no more than its
    length, and a list of a million is still read by NumPy.
    """
    values = [_fixed(buffer, pos, end, width, path)]
    pos += width
    block = 4
    while pos < end and buffer[pos] == tag:
        count = min(block, (end - pos) // (width + 1))
        if count == 0:
            break
        rows = np.frombuffer(buffer, np.uint8, count * (width + 1), pos).reshape(count, width + 1)
        others = np.flatnonzero(rows[:, 0] != tag)
        fitting = int(others[0]) if len(others) else count
        values.append(rows[:fitting, 1:].tobytes())
        pos += fitting * (width + 1)
        if fitting < count:
            break
        block *= 2
    return b"".join(values), pos
