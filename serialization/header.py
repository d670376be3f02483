"""The 24-byte header of a ``.bsl`` file.

Big-endian: int32 magic, int32 version, int32 kind, int32 payload length, int64 CRC32C of the payload. A file is thus at
most 2**31 - 1 bytes long, which any signed 32-bit length or offset can express.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from basalt.errors import ModelFormatError

__all__ = [
    "ALIGNMENT",
    "HEADER_SIZE",
    "MAGIC",
    "MAX_PAYLOAD",
    "PEEK_SIZE",
    "VERSION",
    "Header",
    "check_identity",
    "pack_header",
    "unpack_header",
]

MAGIC = 0x42534C54
"""The first four bytes of every ``.bsl`` file: ASCII ``BSLT``."""

VERSION = 2
"""Version of the container's layout; each kind of payload has a layout version of its own."""

HEADER_SIZE = 24
MAX_PAYLOAD = 2**31 - 1 - HEADER_SIZE

PEEK_SIZE = 12
"""Bytes that tell the kind of a file: magic, version and kind."""

ALIGNMENT = 64
"""Weights start at multiples of this many bytes from the start of the file: a cache line, and an AVX-512 register."""

_IDENTITY = struct.Struct(">iii")
_HEADER = struct.Struct(">iiiiq")


class Header(NamedTuple):
    """A header's fields as stored; ``crc`` is the signed 64-bit field, which no valid file has outside [0, 2**32)."""

    magic: int
    version: int
    kind: int
    length: int
    crc: int


def pack_header(kind: int, length: int, crc: int) -> bytes:
    """The header's 24 bytes for a payload of ``length`` bytes with the given CRC32C."""
    return _HEADER.pack(MAGIC, VERSION, kind, length, crc)


def unpack_header(data: bytes) -> Header:
    """Split 24 bytes into fields without judging them."""
    return Header(*_HEADER.unpack(data))


def check_identity(data: bytes, name: str, known_kinds: dict[int, str]) -> int:
    """Check magic, version and kind in the first 12 bytes of the file ``name`` and return the kind's number.

    Raises ModelFormatError, saying what was found and what was expected.
    """
    magic, version, kind = _IDENTITY.unpack(data[:PEEK_SIZE])
    if magic != MAGIC:
        raise ModelFormatError(
            f"{name}: invalid .bsl magic 0x{magic & 0xFFFFFFFF:08X}, expected 0x{MAGIC:08X} ('BSLT')"
        )
    if version != VERSION:
        raise ModelFormatError(f"{name}: unsupported .bsl version {version}, expected {VERSION}")
    if kind not in known_kinds:
        known = ", ".join(f"{number} ({label})" for number, label in sorted(known_kinds.items()))
        raise ModelFormatError(f"{name}: unknown kind {kind}, expected one of: {known}")
    return kind
