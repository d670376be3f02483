"""The format of a cached kernel's file: no pickle, every byte checked before any of it is used.

Layout, little-endian: magic (8 bytes), format version (u32), length of the header (u32), length of the object code
(u64); header (JSON, the key's material in clear); object code; SHA-256 of everything before it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping

__all__ = ["KernelKey", "pack", "unpack"]

_MAGIC = b"BSLKERN\n"
_VERSION = 1
_HEAD = struct.Struct("<8sIIQ")
_DIGEST = 32


class KernelKey:
    """What a kernel's machine code depends on. ``name`` is the hash of all of it; equal names mean equal code."""

    __slots__ = ("header", "name")

    def __init__(self, material: Mapping[str, str]) -> None:
        self.header = json.dumps(dict(material), sort_keys=True, ensure_ascii=True, indent=0).encode()
        self.name = hashlib.sha256(self.header).hexdigest()


def pack(key: KernelKey, code: bytes) -> bytes:
    """The content of the file for ``code``."""
    body = _HEAD.pack(_MAGIC, _VERSION, len(key.header), len(code)) + key.header + code
    return body + hashlib.sha256(body).digest()


def unpack(key: KernelKey, content: bytes) -> bytes | None:
    """The object code in a file's content; None unless it is whole, undamaged and made for exactly this key."""
    if len(content) < _HEAD.size + _DIGEST:
        return None
    magic, version, header_length, code_length = _HEAD.unpack_from(content)
    start = _HEAD.size + header_length
    if magic != _MAGIC or version != _VERSION or start + code_length + _DIGEST != len(content):
        return None
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.sha256(body).digest() != digest or content[_HEAD.size : start] != key.header:
        return None
    return content[start : start + code_length]
