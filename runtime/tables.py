"""A program as arrays: what frames are made from, and what a ``.bsl`` file stores.

A model has thousands of table entries; as arrays they are checked and bound in microseconds.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from basalt.errors import ValidationError

if TYPE_CHECKING:
    from .spec import Row, Slot

__all__ = ["Constants", "ProgramTables", "RowColumn", "SlotKind", "tables_of"]


_INT64 = 1 << 63


class SlotKind(enum.IntEnum):
    """What one 8-byte entry of a row's table holds. The numbers are stored in files: never renumber."""

    INPUT = 0
    OUTPUT = 1
    ARENA = 2
    CONST = 3
    INT = 4
    FLOAT = 5


class RowColumn:
    """Columns of :attr:`ProgramTables.rows`; the numbers are stored in files: never renumber."""

    KERNEL = 0
    START = 1
    STOP = 2
    MIN_CHUNK = 3
    SERIAL = 4
    FREE = 5
    SLOTS = 6  # how many entries of the slots' arrays are the row's
    COUNT = 7


class ProgramTables(NamedTuple):
    """Rows and the slots of all rows, one after another (see :class:`.spec.Row` and :class:`.spec.Slot`)."""

    rows: np.ndarray
    """int64 [rows, RowColumn.COUNT]."""
    costs: np.ndarray
    """float64 [rows]."""
    slot_kinds: np.ndarray
    """uint8 [slots], of SlotKind."""
    slot_indices: np.ndarray
    """int64 [slots]."""
    slot_values: np.ndarray
    """int64 [slots]; the bits of a float64 for FLOAT."""


class Constants(NamedTuple):
    """Where a program's constants lie in memory, which ``owner`` keeps."""

    addresses: np.ndarray
    """int64 [constants]."""
    sizes: np.ndarray
    """int64 [constants], bytes."""
    owner: object


def tables_of(rows: Sequence[Row]) -> ProgramTables:
    """The tables of rows. Raises ValidationError for a number in a slot that is none of 64 bits."""
    columns = [(row.kernel, row.start, row.stop, row.min_chunk, row.serial, row.free, len(row.slots)) for row in rows]
    slots = [slot for row in rows for slot in row.slots]
    return ProgramTables(
        np.array(columns, np.int64).reshape(-1, RowColumn.COUNT),
        np.array([row.cost for row in rows], np.float64),
        np.array([slot.kind for slot in slots], np.uint8),
        np.array([slot.index for slot in slots], np.int64),
        np.array([_bits(row, slot) for row in rows for slot in row.slots], np.int64),
    )


def _bits(row: Row, slot: Slot) -> int:
    if slot.kind is SlotKind.FLOAT:
        bits: int = struct.unpack("<q", struct.pack("<d", slot.value))[0]
        return bits
    if isinstance(slot.value, float):
        raise ValidationError(f"program: {row.label or 'a row'}: {slot} needs a whole number")
    if not -_INT64 <= slot.value < _INT64:
        raise ValidationError(f"program: {row.label or 'a row'}: {slot} is no 64-bit number")
    return slot.value
