"""Memory planning: places every temporary in one arena so that those that live at once do not overlap.

Lifetimes are intervals of calls. Buffers are placed largest first at the lowest free offset (greedy by size, the best
in practice for such interval packing: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference",
2020). Before that, element-wise results take over the memory of an operand that dies with them.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .borrowing import borrow_outputs
from .codegen.kernel import Call
from .views import Buffer, Storage

ALIGNMENT = 64


@dataclass(slots=True)
class Lifetime:
    """The calls from ``first`` to ``last`` between which a buffer holds something."""

    buffer: Buffer
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


def plan_memory(calls: Sequence[Call], taken: Collection[Buffer] = ()) -> int:
    """Give each arena buffer its offset.

    Args:
        calls: the program.
        taken: outputs whose memory no temporary may have, since it may be an input's.

    Returns:
        The size of the arena in bytes.
    """
    lifetimes = _lifetimes(calls)
    shared = _share_in_place(calls, lifetimes)
    own = {buffer: life for buffer, life in lifetimes.items() if buffer not in shared}
    borrowed = borrow_outputs(calls, own, taken)
    arena = _pack([life for buffer, life in own.items() if buffer not in borrowed])
    for buffer in shared:
        target = buffer
        while target in shared:
            target = shared[target]
        buffer.storage, buffer.index, buffer.offset = target.storage, target.index, target.offset
    return arena


def _lifetimes(calls: Sequence[Call]) -> dict[Buffer, Lifetime]:
    found: dict[Buffer, Lifetime] = {}
    for index, call in enumerate(calls):
        for buffer in (*call.reads, *call.writes):
            if buffer.storage is Storage.ARENA:
                found.setdefault(buffer, Lifetime(buffer, index, index)).last = index
    return found


def _share_in_place(calls: Sequence[Call], lifetimes: dict[Buffer, Lifetime]) -> dict[Buffer, Buffer]:
    """Results that take over an operand's memory, as result -> operand; extends the operand's lifetime."""
    shared: dict[Buffer, Buffer] = {}
    for index, call in enumerate(calls):
        for source, target in call.in_place:
            old, new = source.buffer, target.buffer
            if old not in lifetimes or new not in lifetimes or new in shared or call.reads.count(old) > 1:
                continue
            root = old
            while root in shared:
                root = shared[root]
            if root is new or source.offset != target.offset or old.nbytes < new.nbytes:
                continue
            if lifetimes[root].last != index or lifetimes[new].first != index:
                continue
            if _read_elsewhere(call, source):
                continue
            shared[new] = root
            lifetimes[root].last = lifetimes[new].last
    return shared


def _read_elsewhere(call: Call, source: object) -> bool:
    """Whether the call reads the operand's buffer through another view as well."""
    views = [s for s in call.slots if not isinstance(s, (int, float))]
    buffer = getattr(source, "buffer", None)
    return sum(v.buffer is buffer for v in views) > 1


def _pack(lifetimes: Sequence[Lifetime]) -> int:
    placed: list[Lifetime] = []
    top = 0
    for life in sorted(lifetimes, key=lambda x: (-x.buffer.nbytes, x.first)):
        offset = 0
        size = _aligned(life.buffer.nbytes)
        for other in placed:
            if other.meets(life):
                if other.buffer.offset - offset >= size:
                    break
                offset = max(offset, other.buffer.offset + _aligned(other.buffer.nbytes))
        life.buffer.offset = offset
        insort(placed, life, key=lambda x: x.buffer.offset)
        top = max(top, offset + size)
    return top


def _aligned(size: int) -> int:
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
