"""What a message of a file says beyond the values of its record, so that writing it gives the same message again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["WireNotes"]


@dataclass(slots=True)
class WireNotes:
    """Notes on one message; a record has them only when there is something to note.

    ``unknown`` holds fields that this codec does not know, tags included, as they stood in the file. ``explicit``
    names fields that were present with their default value, ``omitted`` those that were absent although the codec
    writes them always. ``originals`` keeps, for a field whose conversion loses something (the order of a map's
    duplicate keys, say), the converted value and the encoded entries; they count while the value is unchanged.
    """

    unknown: bytes = b""
    explicit: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    originals: dict[str, tuple[Any, tuple[bytes, ...]]] = field(default_factory=dict)
