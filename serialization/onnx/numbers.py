"""Repeated numbers from the pieces in which a file holds them: packed spans, unpacked runs, any mixture."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

from .faults import Path, fault
from .varints import Buffer, read_varint, varint_vector
from .wire import Span

__all__ = ["Piece", "count_fixed", "count_varints", "fixed_array", "int_tuple", "varint_array"]

Piece: TypeAlias = "Span | list[int] | bytes"
"""A span of packed values, unpacked varints as ints in [0, 2**64), or unpacked fixed-width values side by side."""

_CONTINUED = bytes(range(128, 256))
_CHUNK = 1 << 20
# Below this many bytes a loop is faster than NumPy's calls.
_SHORT = 48


def int_tuple(buffer: Buffer, pieces: list[Any] | None, path: Path) -> tuple[int, ...]:
    """The values of a repeated int64 field."""
    if pieces is None:
        return ()
    values: list[int] = []
    for piece in pieces:
        if isinstance(piece, list):
            values += piece
            continue
        pos, end = piece
        if end - pos > _SHORT:
            values += varint_vector(buffer, pos, end, path).tolist()
            continue
        while pos < end:
            value, pos = read_varint(buffer, pos, end, path)
            values.append(value)
    if values and max(values) >= 1 << 63:
        return tuple(value if value < 1 << 63 else value - (1 << 64) for value in values)
    return tuple(values)


def varint_array(buffer: Buffer, pieces: list[Any], path: Path) -> np.ndarray:
    """The values of a repeated varint field as a uint64 vector."""
    parts = [
        np.array(piece, np.uint64) if isinstance(piece, list) else varint_vector(buffer, piece[0], piece[1], path)
        for piece in pieces
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def fixed_array(buffer: Buffer, pieces: list[Any], dtype: str) -> np.ndarray:
    """The values of a repeated field of fixed width ("<f4" or "<f8"), a view of the buffer where they stand packed."""
    stored = np.dtype(dtype)
    parts = [
        np.frombuffer(piece, stored)
        if isinstance(piece, bytes)
        else np.frombuffer(buffer, stored, (piece[1] - piece[0]) // stored.itemsize, piece[0])
        for piece in pieces
        if isinstance(piece, bytes) or piece[1] > piece[0]
    ]
    if not parts:
        return np.empty(0, stored.newbyteorder("="))
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return values if sys.byteorder == "little" else values.astype(stored.newbyteorder("="))


def count_varints(buffer: Buffer, pieces: list[Any], path: Path) -> int:
    """How many values a repeated varint field has. Decodes nothing."""
    count = 0
    for piece in pieces:
        if isinstance(piece, list):
            count += len(piece)
            continue
        pos, end = piece
        if end > pos and buffer[end - 1] > 127:
            raise fault(path, end - 1, "the last of the packed numbers is cut off")
        for start in range(pos, end, _CHUNK):
            count += len(buffer[start : min(start + _CHUNK, end)].translate(None, _CONTINUED))
    return count


def count_fixed(pieces: list[Any], width: int, path: Path) -> int:
    """How many values a repeated field of ``width`` bytes a value has."""
    count = 0
    for piece in pieces:
        size = len(piece) if isinstance(piece, bytes) else piece[1] - piece[0]
        if size % width:
            raise fault(path, piece[0], f"{size} bytes of packed values of {width} bytes each")
        count += size // width
    return count
