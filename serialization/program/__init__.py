"""Compiled programs in ``.bsl`` files: parts that are checked when they are used, each a record of plain values."""

from __future__ import annotations

from .data import ProgramParts, Signature
from .fields import Fields
from .file import ProgramFile, open_program
from .manifest import signed_message
from .records import Record, RecordValue

__all__ = [
    "Fields",
    "ProgramFile",
    "ProgramParts",
    "Record",
    "RecordValue",
    "Signature",
    "open_program",
    "signed_message",
]
