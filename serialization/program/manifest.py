"""The start of a compiled program's payload: which parts there are, their checksums, and signatures of all that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..checksum import extend_crc
from ..payload_reader import PayloadReader
from .data import Signature

if TYPE_CHECKING:
    from ..payload_writer import PayloadWriter

__all__ = [
    "BYTES",
    "KIND",
    "KIND_NAME",
    "LAYOUT",
    "PART_ALIGNMENT",
    "RECORD",
    "Manifest",
    "PartEntry",
    "read_prelude",
    "signed_message",
    "write_prelude",
]

KIND, KIND_NAME = 2, "PROGRAM"
"""Kind.PROGRAM and its name: all that a program that starts in milliseconds need know of kinds."""
LAYOUT = 1
"""Version of the PROGRAM payload's layout, its first byte."""
RECORD, BYTES = 0, 1
"""What a part is."""
PART_ALIGNMENT = 64
"""Parts start at multiples of this from the start of the payload."""

_KEY, _SIGNATURE, _DIGEST = 32, 64, 32
_CONTEXT = b"Basalt compiled program, manifest, Ed25519\n"
_MAX_SIGNATURES = 64


class PartEntry(NamedTuple):
    """A part: ``form`` is RECORD or BYTES, ``size`` in bytes, ``crc`` its CRC32C, ``digest`` its SHA-256."""

    name: str
    form: int
    size: int
    crc: int
    digest: bytes


class Manifest(NamedTuple):
    """Metadata, and the parts in the order of the file."""

    metadata: dict[str, str]
    parts: tuple[PartEntry, ...]

    def encode(self) -> bytes:
        """The bytes that are signed and stored."""
        from ..payload_writer import PayloadWriter

        writer = PayloadWriter()
        writer.varint(len(self.metadata))
        for key, value in self.metadata.items():
            with writer.field("metadata", key):
                writer.text(key)
                writer.text(value)
        writer.varint(len(self.parts))
        for part in self.parts:
            writer.text(part.name)
            writer.u8(part.form)
            writer.varint(part.size)
            writer.varint(part.crc)
            writer.blob(part.digest)
        return b"".join(piece.tobytes() for piece in writer.chunks())


def signed_message(manifest: bytes) -> bytes:
    """What a signature of a manifest is over; the first line keeps it from being one of anything else."""
    return _CONTEXT + manifest


def write_prelude(writer: PayloadWriter, manifest: bytes, signatures: Sequence[Signature]) -> None:
    """Write everything before the parts."""
    writer.u8(LAYOUT)
    writer.blob(manifest)
    writer.varint(_crc(manifest))
    if len(signatures) > _MAX_SIGNATURES:
        writer.fail(f"{len(signatures)} signatures, expected at most {_MAX_SIGNATURES}")
    writer.varint(len(signatures))
    for signature in signatures:
        if (len(signature.key), len(signature.value)) != (_KEY, _SIGNATURE):
            writer.fail(f"a key of {len(signature.key)} and a signature of {len(signature.value)} bytes")
        writer.blob(signature.key)
        writer.blob(signature.value)


def read_prelude(reader: PayloadReader, source: str = "payload") -> tuple[bytes, Manifest, tuple[Signature, ...]]:
    """Read what :func:`write_prelude` wrote: the manifest's bytes, the manifest, the signatures, which are not checked.

    Raises ModelFormatError for other bytes, and where the manifest's CRC32C is another.
    """
    with reader.field("layout"):
        layout = reader.u8()
        if layout != LAYOUT:
            reader.fail(f"unknown layout {layout} of a program, expected {LAYOUT}", reader.position - 1)
    with reader.field("manifest"):
        start = reader.position
        content = reader.blob()
        crc = reader.varint()
        if crc != _crc(content):
            reader.fail(f"the manifest's CRC32C is 0x{_crc(content):08X}, but the file says 0x{crc:X}", start)
    with reader.field("signatures"):
        signatures = tuple([Signature(reader.blob(), reader.blob()) for _ in range(reader.count(2))])
        if len(signatures) > _MAX_SIGNATURES or any((len(s.key), len(s.value)) != (32, 64) for s in signatures):
            reader.fail("a signature is not of 32 and 64 bytes, or there are too many")
    return content, _read_manifest(PayloadReader(content, f"{source}: manifest")), signatures


def _read_manifest(reader: PayloadReader) -> Manifest:
    metadata: dict[str, str] = {}
    for _ in range(reader.count(2)):
        key = reader.text()
        if key in metadata:
            reader.fail(f"the metadata {key!r} is given twice")
        metadata[key] = reader.text()
    parts: dict[str, PartEntry] = {}
    for _ in range(reader.count(5)):
        entry = PartEntry(reader.text(), reader.u8(), reader.varint(), reader.varint(), reader.blob())
        if entry.name in parts or entry.form not in (RECORD, BYTES) or len(entry.digest) != _DIGEST:
            reader.fail(f"the part {entry.name!r} is given twice, or its description is not valid")
        parts[entry.name] = entry
    reader.expect_end()
    return Manifest(metadata, tuple(parts.values()))


def _crc(content: bytes) -> int:
    return extend_crc(0, np.frombuffer(content, np.uint8))
