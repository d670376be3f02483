"""Which calls of a program need not wait for those right before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .codegen.kernel import Call
from .views import Buffer, Storage

__all__ = ["independence"]

MOST = 16
"""Calls that a call is compared with."""

_Range = tuple[Storage, int, int, int]


def independence(calls: Sequence[Call]) -> list[int]:
    """For each call how many of the calls right before it may run at the same time.

    Two calls may if neither writes memory that the other reads or writes. Buffers must have their places already: what
    follows the end of one's lifetime may lie where it was.
    """
    reads = [_ranges(call.reads) for call in calls]
    writes = [_ranges(call.writes) for call in calls]
    found = []
    for index in range(len(calls)):
        before = index
        while before > max(0, index - MOST) and not (
            _meet(writes[index], writes[before - 1])
            or _meet(writes[index], reads[before - 1])
            or _meet(reads[index], writes[before - 1])
        ):
            before -= 1
        found.append(index - before)
    return found


def _ranges(buffers: Iterable[Buffer]) -> list[_Range]:
    return [
        (b.storage, 0 if b.storage is Storage.ARENA else b.index, b.offset, b.offset + max(b.nbytes, 1))
        for b in buffers
        if b.storage in (Storage.ARENA, Storage.OUTPUT)
    ]


def _meet(some: Iterable[_Range], others: Sequence[_Range]) -> bool:
    return any(
        storage is other and index == number and start < stop and first < last
        for storage, index, start, last in some
        for other, number, first, stop in others
    )
