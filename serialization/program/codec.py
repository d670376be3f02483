"""The codec of compiled programs: parts, each with its checksums in the manifest that comes first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from ..checksum import extend_crc
from ..payload_reader import PayloadReader
from ..payload_writer import PayloadWriter
from .data import Part, ProgramParts, Signature
from .manifest import BYTES, PART_ALIGNMENT, RECORD, Manifest, PartEntry, read_prelude, write_prelude
from .records import read_record, write_record

__all__ = ["read_program", "write_program", "write_raw_program"]


def write_program(writer: PayloadWriter, program: ProgramParts) -> None:
    """Write ``program``; raises ValidationError, with the path of the field, where the format cannot hold it."""
    encoded = {name: _encode(name, part) for name, part in program.parts.items()}
    entries = tuple([_entry(name, program.parts[name], part) for name, part in encoded.items()])
    manifest = Manifest(dict(program.metadata), entries).encode()
    write_raw_program(writer, manifest, program.signatures, encoded)


def write_raw_program(
    writer: PayloadWriter, manifest: bytes, signatures: Sequence[Signature], parts: Mapping[str, PayloadWriter]
) -> None:
    """Write a program of which manifest and parts are bytes already."""
    write_prelude(writer, manifest, signatures)
    for part in parts.values():
        writer.embed(part, PART_ALIGNMENT)


def read_program(reader: PayloadReader) -> ProgramParts:
    """Read a whole program. Raises ModelFormatError for other bytes; parts' own checksums are not looked at."""
    _, manifest, signatures = read_prelude(reader)
    parts: dict[str, Part] = {}
    for entry in manifest.parts:
        with reader.field("parts", entry.name):
            content = reader.embedded(entry.size, PART_ALIGNMENT)
            parts[entry.name] = read_record(content) if entry.form == RECORD else content.rest()
            content.expect_end()
    return ProgramParts(manifest.metadata, parts, signatures)


def _encode(name: str, part: Part) -> PayloadWriter:
    writer = PayloadWriter()
    with writer.field(name):
        if isinstance(part, np.ndarray):
            if part.dtype != np.uint8 or part.ndim != 1:
                writer.fail(f"{part.dtype.name}{list(part.shape)} given, expected a vector of uint8")
            writer.array(part)
        else:
            write_record(writer, part)
    return writer


def _entry(name: str, part: Part, encoded: PayloadWriter) -> PartEntry:
    crc, digest = 0, hashlib.sha256()
    for piece in encoded.chunks():
        crc = extend_crc(crc, piece)
        digest.update(piece.data)
    return PartEntry(name, BYTES if isinstance(part, np.ndarray) else RECORD, encoded.size, crc, digest.digest())
