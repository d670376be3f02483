"""Opening a compiled program: the manifest is read and checked at once, a part when it is asked for."""

from __future__ import annotations

import os
from functools import cached_property

import numpy as np

from basalt.errors import ModelFormatError

from ..checksum import payload_crc
from ..header import HEADER_SIZE, MAX_PAYLOAD, check_identity, unpack_header
from ..paths import path_text
from ..payload_reader import PayloadReader
from ..sources import Source, open_source
from .data import Signature
from .fields import Fields
from .manifest import BYTES, KIND, KIND_NAME, PART_ALIGNMENT, RECORD, PartEntry, read_prelude
from .records import read_record

__all__ = ["ProgramFile", "open_program"]


def open_program(source: Source) -> ProgramFile:
    """The compiled program in a path, bytes or a binary file object.

    A file is mapped, and only its manifest is read. It must not be changed in place or cut short while it is used.

    Raises ModelFormatError for a file of another kind, and for a damaged header or manifest; OSError subclasses that
    name the file if it cannot be read.
    """
    content, name = open_source(source, soon=False)
    if len(content) < HEADER_SIZE:
        raise ModelFormatError(f"{name}: truncated .bsl header, {len(content)} bytes instead of {HEADER_SIZE} or more")
    start = content[:HEADER_SIZE].tobytes()
    check_identity(start, name, {KIND: KIND_NAME})
    declared = unpack_header(start).length
    if declared != len(content) - HEADER_SIZE or declared > MAX_PAYLOAD:
        raise ModelFormatError(
            f"{name}: the header declares a payload of {declared} bytes, but {len(content) - HEADER_SIZE} follow it"
        )
    path = os.path.abspath(path_text(source)) if isinstance(source, (str, os.PathLike)) else None
    return ProgramFile(content, name, path)


class ProgramFile:
    """A compiled program's file. Parts' CRC32C are checked when they are first asked for, damaged ones refused.

    ``name`` is the file's for messages, ``path`` its path if it was opened by one, ``metadata`` what it says of itself,
    ``signatures`` those of its manifest, which are not checked, and ``manifest`` the bytes that they sign.
    """

    def __init__(self, content: np.ndarray, name: str, path: str | None = None) -> None:
        self.name = name
        self.path = path
        self._content = content
        reader = PayloadReader(content[HEADER_SIZE:], name)
        self.manifest, manifest, self.signatures = read_prelude(reader, name)
        self.metadata = manifest.metadata
        self._entries = {part.name: part for part in manifest.parts}
        self._places = self._place(reader.position)
        self._digests = False
        self._checked: set[str] = set()

    signatures: tuple[Signature, ...]

    def __contains__(self, part: str) -> bool:
        return part in self._entries

    @property
    def nbytes(self) -> int:
        """The file's size in bytes."""
        return len(self._content)

    @cached_property
    def parts(self) -> dict[str, int]:
        """The size in bytes of each part, by name."""
        return {name: entry.size for name, entry in self._entries.items()}

    def require_digests(self) -> None:
        """Have the SHA-256 of each part that is asked for checked too, as a signature of the manifest calls for."""
        self._digests = True
        self._checked.clear()

    def record(self, part: str) -> Fields:
        """A part that is a record. Raises ModelFormatError if there is none of this name, or it is damaged."""
        reader = self._reader(part, RECORD)
        record = read_record(reader)
        reader.expect_end()
        return Fields(record, f"{self.name}: {part}")

    def data(self, part: str) -> np.ndarray:
        """A part of bytes: a read-only uint8 vector, at a multiple of 64 bytes. Raises as :meth:`record`."""
        return self._reader(part, BYTES).rest()

    def raw(self, part: str) -> np.ndarray:
        """A part's bytes as they stand in the file, checked. Raises as :meth:`record`."""
        entry = self._entry(part)
        content = self._raw(entry)
        if part in self._checked:
            return content
        crc = payload_crc(content)
        if crc != entry.crc:
            raise ModelFormatError(
                f"{self.name}: the CRC32C of part {part!r} is 0x{crc:08X}, but the manifest says 0x{entry.crc:08X}"
            )
        if self._digests and _sha256(content) != entry.digest:
            raise ModelFormatError(f"{self.name}: the SHA-256 of part {part!r} is not the one that was signed")
        self._checked.add(part)
        return content

    def check(self) -> None:
        """Check the whole file: its CRC32C, each part's CRC32C and SHA-256. Raises ModelFormatError."""
        crc, stated = payload_crc(self._content[HEADER_SIZE:]), unpack_header(self._content[:HEADER_SIZE].tobytes()).crc
        if crc != stated:
            raise ModelFormatError(
                f"{self.name}: the payload's CRC32C is 0x{crc:08X}, but the header says "
                f"0x{stated & 0xFFFFFFFFFFFFFFFF:08X}"
            )
        self.require_digests()
        for name in self._entries:
            self.raw(name)

    def _place(self, position: int) -> dict[str, int]:
        """Where each part starts in the file."""
        places = {}
        for name, entry in self._entries.items():
            position += -position % PART_ALIGNMENT
            places[name] = HEADER_SIZE + position
            position += entry.size
        if HEADER_SIZE + position != len(self._content):
            raise ModelFormatError(
                f"{self.name}: the manifest's parts end at byte {HEADER_SIZE + position}, the file at "
                f"{len(self._content)}"
            )
        return places

    def _entry(self, part: str) -> PartEntry:
        if part not in self._entries:
            raise ModelFormatError(f"{self.name}: there is no part {part!r}; the parts are {', '.join(self._entries)}")
        return self._entries[part]

    def _raw(self, entry: PartEntry) -> np.ndarray:
        start = self._places[entry.name]
        return self._content[start : start + entry.size]

    def _reader(self, part: str, form: int) -> PayloadReader:
        content = self.raw(part)
        if self._entries[part].form != form:
            raise ModelFormatError(f"{self.name}: part {part!r} is {'bytes' if form == RECORD else 'a record'}")
        return PayloadReader(content, f"{self.name}: {part}")


def _sha256(content: np.ndarray) -> bytes:
    import hashlib

    return hashlib.sha256(content.data).digest()
