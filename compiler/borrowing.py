"""Temporaries that lie in an output's memory until the output itself is written.

Every run is given memory for its outputs. Until the first kernel that touches an output runs, that memory is free;
large temporaries that are dead by then are kept there, so that a chain of layers needs its input, its output and one
temporary, not two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from .views import Buffer, Storage

if TYPE_CHECKING:
    from .codegen.kernel import Call
    from .memory import Lifetime

WORTH = 1 << 12
"""Bytes below which a temporary stays in the arena."""


def borrow_outputs(
    calls: Sequence[Call], lifetimes: Mapping[Buffer, Lifetime], taken: Collection[Buffer] = ()
) -> set[Buffer]:
    """Move temporaries into outputs' memory.

    Args:
        calls: the program.
        lifetimes: of the arena's buffers, without those that share another's memory.
        taken: outputs that are no places for temporaries.

    Returns:
        The buffers that have left the arena.
    """
    free_until = _first_touches(calls)
    hosts = sorted((b for b in free_until if b not in taken), key=lambda b: -b.nbytes)
    guests: dict[Buffer, list[Lifetime]] = {host: [] for host in hosts}
    moved: set[Buffer] = set()
    # The latest first: a chain that alternates between two places then ends with the output's own.
    for life in sorted(lifetimes.values(), key=lambda x: (-x.buffer.nbytes, -x.last)):
        for host in hosts:
            if _fits(life, host, free_until[host]) and not any(life.meets(other) for other in guests[host]):
                guests[host].append(life)
                life.buffer.storage, life.buffer.index, life.buffer.offset = Storage.OUTPUT, host.index, 0
                moved.add(life.buffer)
                break
    return moved


def _first_touches(calls: Sequence[Call]) -> dict[Buffer, int]:
    """The first call that reads or writes each output."""
    found: dict[Buffer, int] = {}
    for index, call in enumerate(calls):
        for buffer in (*call.reads, *call.writes):
            if buffer.storage is Storage.OUTPUT:
                found.setdefault(buffer, index)
    return found


def _fits(life: Lifetime, host: Buffer, free_until: int) -> bool:
    """Whether a temporary is large enough to matter, dead in time, no larger, and no more aligned than the output."""
    guest = life.buffer
    return WORTH <= guest.nbytes <= host.nbytes and life.last < free_until and guest.itemsize <= host.itemsize
