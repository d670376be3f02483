"""Base-128 numbers, the integers of protobuf: one at a time, and vectors of them."""

from __future__ import annotations

import mmap
from typing import TypeAlias

import numpy as np

from .faults import Path, fault

__all__ = ["Buffer", "encode_varints", "read_varint", "tagged_varints", "varint", "varint_vector"]

Buffer: TypeAlias = bytes | mmap.mmap
"""What is read; slices of both are bytes, and NumPy maps both without a copy."""

_LONGEST = 10


def varint(value: int) -> bytes:
    """A number in [0, 2**64) in base 128."""
    if value < 128:
        return bytes((value,))
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def read_varint(buffer: Buffer, pos: int, end: int, path: Path) -> tuple[int, int]:
    """The number at ``pos``, modulo 2**64 as protobuf has it, and the position after it."""
    value = shift = 0
    start = pos
    while pos < end:
        byte = buffer[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, pos
        shift += 7
        if shift == 7 * _LONGEST:
            raise fault(path, start, "a number of more than 10 bytes")
    raise fault(path, start, "the number is cut off by the end of the message")


def varint_vector(buffer: Buffer, pos: int, end: int, path: Path) -> np.ndarray:
    """All numbers of ``[pos, end)`` as a uint64 vector, by as many steps over it as the longest number has bytes."""
    if pos == end:
        return np.empty(0, np.uint64)
    data = np.frombuffer(buffer, np.uint8, end - pos, pos)
    last = np.flatnonzero(data < 128)
    if not len(last) or last[-1] != len(data) - 1:
        raise fault(path, end - 1, "the last of the packed numbers is cut off")
    first = np.empty_like(last)
    first[0] = 0
    first[1:] = last[:-1] + 1
    return _gather(data, first, last, path, pos)


def tagged_varints(buffer: Buffer, pos: int, end: int, tag: int, path: Path) -> tuple[list[int], int]:
    """The numbers of the fields from ``pos`` on that have the one-byte ``tag``, and the position after them.

    May stop early, before a number that is longer than the block looked at; the caller reads that one by itself. Blocks
    double in length while they hold such fields only, so other fields between them cost no more than their length.
    """
    numbers: list[int] = []
    block = 128
    while pos < end and buffer[pos] == tag:
        data = np.frombuffer(buffer, np.uint8, min(block, end - pos), pos)
        # Tags are numbers too, so that every other one has to be of one byte and equal to the tag.
        last = np.flatnonzero(data < 128)
        tags, values = last[: len(last) // 2 * 2 : 2], last[1::2]
        if not len(values):
            break
        fits = data[tags] == tag
        fits[1:] &= tags[1:] == values[:-1] + 1
        count = len(fits) if fits.all() else int(fits.argmin())
        numbers += _gather(data, tags[:count] + 1, values[:count], path, pos).tolist()
        pos += int(values[count - 1]) + 1
        if count < len(fits):
            break
        block *= 2
    return numbers, pos


def _gather(data: np.ndarray, first: np.ndarray, last: np.ndarray, path: Path, pos: int) -> np.ndarray:
    """The numbers whose bytes are ``data[first : last + 1]``; ``pos`` is where ``data`` starts in the file."""
    lengths = last - first + 1
    longest = int(lengths.max())
    if longest > _LONGEST:
        raise fault(path, pos + int(first[lengths.argmax()]), "a number of more than 10 bytes")
    values = (data[first] & 127).astype(np.uint64)
    for step in range(1, longest):
        (longer,) = np.nonzero(lengths > step)
        values[longer] |= (data[first[longer] + step] & 127).astype(np.uint64) << np.uint64(7 * step)
    return values


def encode_varints(values: np.ndarray, tag: bytes) -> bytes:
    """Each of a uint64 vector's numbers after ``tag``."""
    lengths = np.ones(len(values), np.int64)
    for step in range(1, _LONGEST):
        lengths += values >= np.uint64(1 << 7 * step)
    ends = np.cumsum(lengths + len(tag))
    starts = ends - lengths
    octets = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    for place, octet in enumerate(tag):
        octets[starts - len(tag) + place] = octet
    for step in range(int(lengths.max(initial=0))):
        (longer,) = np.nonzero(lengths > step)
        rest = values[longer] >> np.uint64(7 * step)
        more = (lengths[longer] > step + 1).astype(np.uint8) << 7
        octets[starts[longer] + step] = (rest & np.uint64(127)).astype(np.uint8) | more
    return octets.tobytes()
