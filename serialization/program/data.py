"""What a compiled program's file consists of, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from .records import Record

__all__ = ["Part", "ProgramParts", "Signature"]

Part: TypeAlias = "Record | np.ndarray"
"""A record, or bytes (a uint8 vector), of which readers take pieces."""


class Signature(NamedTuple):
    """An Ed25519 signature (RFC 8032) of a file's manifest: the public ``key`` of 32 bytes, a ``value`` of 64."""

    key: bytes
    value: bytes


class ProgramParts(NamedTuple):
    """A program to be written.

    ``metadata`` is free text by name, which is read without reading the parts; ``parts`` are records and byte vectors
    by name, in the order of the file.
    """

    metadata: Mapping[str, str]
    parts: Mapping[str, Part]
    signatures: tuple[Signature, ...] = ()
