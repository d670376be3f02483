"""What a compiled program's file consists of, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .records import Record

__all__ = ["Part", "ProgramParts", "Signature"]

Part = Record | np.ndarray
"""A record, or bytes (a uint8 vector), of which readers take pieces."""


@dataclass(frozen=True)
class Signature:
    """An Ed25519 signature (RFC 8032) of a file's manifest: the public ``key`` of 32 bytes, a ``value`` of 64."""

    key: bytes
    value: bytes


@dataclass(frozen=True)
class ProgramParts:
    """A program to be written.

    ``metadata`` is free text by name, which is read without reading the parts; ``parts`` are records and byte vectors
    by name, in the order of the file.
    """

    metadata: Mapping[str, str]
    parts: Mapping[str, Part]
    signatures: tuple[Signature, ...] = field(default=())
