"""Writing the protobuf wire format, from the last byte to the first.

A message's length stands before its content. Writing backwards, the content's length is known when its turn comes, so
every message is written once, into one list, without copies of what it contains.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from basalt.errors import ValidationError

from .faults import Path, path_text
from .varints import encode_varints, varint
from .wire import MAX_DEPTH
from .wire_notes import WireNotes

__all__ = ["Chunk", "Encoder"]

Chunk: TypeAlias = bytes | memoryview

_GROUP = 1 << 18
_FLOAT32 = struct.Struct("<f")
# From so many numbers on it pays to encode them by NumPy.
_LONG = 32


class Encoder:
    """Takes the fields of a message in descending order, the entries of a repeated field from the last to the first.

    ``path`` says for error messages which record is being written; whoever writes a nested one sets and restores it.
    """

    def __init__(self) -> None:
        self.path: Path = (None, "model", None)
        self.size = 0
        self._parts: list[Chunk] = []
        self._depth = 0

    def chunks(self) -> Iterator[Chunk]:
        """The written bytes, in the order of the file, small pieces joined."""
        group: list[Chunk] = []
        room = _GROUP
        for part in reversed(self._parts):
            if len(part) >= _GROUP:
                yield b"".join(group)
                yield part
                group, room = [], _GROUP
                continue
            group.append(part)
            room -= len(part)
            if room < 0:
                yield b"".join(group)
                group, room = [], _GROUP
        yield b"".join(group)

    def put(self, part: Chunk) -> None:
        """Place bytes before what has been written."""
        self._parts.append(part)
        self.size += len(part)

    def octets(self, number: int, part: Chunk) -> None:
        """A length-delimited field."""
        self.put(part)
        self.put(varint(number << 3 | 2) + varint(len(part)))

    def octet_list(self, number: int, parts: Iterable[bytes]) -> None:
        """A repeated length-delimited field of short entries."""
        key = varint(number << 3 | 2)
        self.put(b"".join([key + varint(len(part)) + part for part in parts]))

    def close(self, number: int, mark: int) -> None:
        """End a nested message, as field ``number``, that began when ``size`` was ``mark``."""
        self.put(varint(number << 3 | 2) + varint(self.size - mark))

    def text(self, number: int, value: str, name: str, notes: WireNotes | None) -> None:
        """A string field, left out if empty unless the file had it all the same."""
        if value or (notes is not None and name in notes.explicit):
            self.octets(number, self.encoded(value, name))

    def texts(self, number: int, values: Iterable[str], name: str) -> None:
        """A repeated string field."""
        self.octet_list(number, [self.encoded(value, name) for value in values])

    def integer(self, number: int, value: int, name: str, notes: WireNotes | None) -> None:
        """An int64 field, left out if zero unless the file had it all the same."""
        if value or (notes is not None and name in notes.explicit):
            self.put(varint(number << 3) + varint(self.int64(value, name)))

    def integers(self, number: int, values: Iterable[int], name: str) -> None:
        """A repeated int64 field, not packed, as proto2 writes it."""
        key = varint(number << 3)
        listed = tuple(values)
        if len(listed) > _LONG and all(type(value) is int for value in listed):
            with contextlib.suppress(OverflowError):
                self.put(encode_varints(np.array(listed, np.int64).view(np.uint64), key))
                return
        self.put(b"".join([key + varint(self.int64(value, name)) for value in listed]))

    def floats(self, number: int, values: Iterable[float], name: str) -> None:
        """Values of a float field, single or repeated and not packed."""
        key = varint(number << 3 | 5)
        try:
            self.put(b"".join([key + _FLOAT32.pack(value) for value in values]))
        except (struct.error, OverflowError, TypeError) as error:
            raise self.invalid(name, f"a value is no float32: {error}") from None

    def unknown(self, notes: WireNotes | None) -> None:
        """The unknown fields of a message; they come first here, so that they stand last in the file."""
        if notes is not None and notes.unknown:
            self.put(notes.unknown)

    def original(self, number: int, name: str, value: object, notes: WireNotes | None) -> bool:
        """Write field ``name`` as the file had it, if the notes have that form and it still stands for ``value``."""
        if notes is None or name not in notes.originals or notes.originals[name][0] != value:
            return False
        for part in reversed(notes.originals[name][1]):
            self.octets(number, part)
        return True

    def mapping(self, number: int, entries: dict[str, str], name: str, notes: WireNotes | None) -> None:
        """A dict as repeated StringStringEntryProto."""
        if not entries and notes is None:
            return
        if self.original(number, name, entries, notes):
            return
        for key, value in reversed(tuple(entries.items())):
            mark = self.size
            self.octets(2, self.encoded(value, name))
            self.octets(1, self.encoded(key, name))
            self.close(number, mark)

    def descend(self, levels: int) -> None:
        """Enter a record that may contain itself. Raises ValidationError beyond the depth that readers accept."""
        self._depth += levels
        if self._depth > MAX_DEPTH:
            raise self.invalid("", f"records nested more than {MAX_DEPTH} messages deep")

    def ascend(self, levels: int) -> None:
        """Leave it."""
        self._depth -= levels

    def encoded(self, value: str, name: str) -> bytes:
        """``value`` in UTF-8. Raises ValidationError if it is no str or has lone surrogates."""
        try:
            return value.encode()
        except (AttributeError, UnicodeEncodeError):
            raise self.invalid(name, f"{value!r} is no text") from None

    def int64(self, value: int, name: str) -> int:
        """``value`` modulo 2**64. Raises ValidationError if it is no int64."""
        try:
            number = value.__index__()
        except AttributeError:
            raise self.invalid(name, f"{value!r} is no integer") from None
        if not -(1 << 63) <= number < 1 << 63:
            raise self.invalid(name, f"{value} is no 64-bit integer")
        return number & 0xFFFFFFFFFFFFFFFF

    def invalid(self, name: str, what: str) -> ValidationError:
        """An error about field ``name`` of the record being written."""
        where = ".".join(part for part in (path_text(self.path), name) if part)
        return ValidationError(f"cannot write the model: {where + ': ' if where else ''}{what}")
