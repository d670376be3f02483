"""A program's rows, its kernels and the plan of its memory, as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from basalt.runtime.spec import ProgramSpec

from ..codegen.kernel import Call
from ..codegen.lowering import Lowering
from ..memory import ALIGNMENT
from ..views import Buffer, Storage, View
from .records import Records

__all__ = ["kernels_of", "memory_of", "rows_of"]

MOST_SLOTS = 64


def rows_of(lowering: Lowering, spec: ProgramSpec, nodes: Sequence[int], memory: dict[Buffer, int]) -> list[Any]:
    """The rows: which kernel for which node, estimated time in us, units, operations, bytes, and the kernel's table.

    Args:
        lowering: the lowering whose calls the rows are.
        spec: the program.
        nodes: the number of each node of the lowered graph.
        memory: the numbers of buffers in the plan of the memory.
    """
    owner: dict[int, int] = {}
    for number, (first, last) in zip(nodes, lowering.spans):
        owner |= dict.fromkeys(range(first, last), number)
    rows = []
    for index, (row, call) in enumerate(zip(spec.rows, lowering.calls)):
        rows.append(
            {
                "kernel": row.kernel,
                "node": owner.get(index),
                "label": row.label,
                "us": _finite(row.cost / 1e3),
                "units": row.stop - row.start,
                "chunk": row.min_chunk,
                "serial": row.serial,
                "free": row.free,
                "operations": row.operations,
                "bytes": row.nbytes,
                "dtype": row.dtype,
                "slots": [_slot(slot, call, memory) for slot in call.slots[:MOST_SLOTS]],
                "more": max(0, len(call.slots) - MOST_SLOTS),
            }
        )
    return rows


def _slot(slot: View | int | float, call: Call, memory: dict[Buffer, int]) -> dict[str, Any]:
    if not isinstance(slot, View):
        return {"number": slot if isinstance(slot, int) else _finite(slot)}
    entry: dict[str, Any] = {
        "at": slot.buffer.storage.value,
        "type": slot.dtype,
        "shape": list(slot.shape),
        "strides": list(slot.strides),
        "offset": slot.offset * slot.itemsize,
        "way": "write" if slot.buffer in call.writes else "read",
    }
    if slot.buffer in memory:
        entry["buffer"] = memory[slot.buffer]
    else:
        entry["index"] = slot.buffer.index
    return entry


def _finite(number: float) -> float | str:
    return float(f"{number:.6g}") if math.isfinite(number) else str(number)


def kernels_of(spec: ProgramSpec) -> list[dict[str, Any]]:
    """The kernels, without their code."""
    return [{"label": k.label, "key": k.key, "lines": k.source.count("\n")} for k in spec.kernels]


def memory_of(lowering: Lowering, spec: ProgramSpec, records: Records) -> tuple[dict[str, Any], dict[Buffer, int]]:
    """The plan of the memory, and the numbers of the buffers in it.

    A buffer is where values live between its first and last row (both included); ``over`` is the one whose memory it
    takes over in place. ``live`` is what the buffers of the arena that are live at each row take, rounded up as the
    arena's are.
    """
    found = _lifetimes(lowering.calls)
    numbers = {buffer: i for i, buffer in enumerate(found)}
    over = _taken_over(lowering.calls, found)
    held = _held_values(lowering, records)
    buffers = []
    for buffer, (first, last) in found.items():
        entry: dict[str, Any] = {
            "at": buffer.storage.value,
            "index": buffer.index,
            "offset": buffer.offset,
            "bytes": buffer.nbytes,
            "first": first,
            "last": last,
            "values": held.get(buffer, []),
        }
        if buffer in over:
            entry["over"] = numbers[over[buffer]]
        buffers.append(entry)
    arrays = {id(array): array.nbytes for array in spec.constants}
    live = _live(lowering.calls, found, over)
    plan = {
        "arena": spec.arena_bytes,
        "constants": sum(arrays.values()),
        "inputs": [{"name": s.name, "bytes": s.nbytes} for s in spec.inputs],
        "outputs": [{"name": s.name, "bytes": s.nbytes} for s in spec.outputs],
        "buffers": buffers,
        "live": live,
        "peak": max(range(len(live)), key=live.__getitem__) if any(live) else None,
    }
    return plan, numbers


def _lifetimes(calls: Sequence[Call]) -> dict[Buffer, tuple[int, int]]:
    """The first and last row that touch each buffer which is no constant."""
    found: dict[Buffer, tuple[int, int]] = {}
    for index, call in enumerate(calls):
        for buffer in (*call.reads, *call.writes):
            if buffer.storage is not Storage.CONSTANT:
                found[buffer] = (found.get(buffer, (index, index))[0], index)
    return found


def _taken_over(calls: Sequence[Call], found: dict[Buffer, tuple[int, int]]) -> dict[Buffer, Buffer]:
    """Results that lie where an operand did that died with the same row: nothing else may share a place in a row."""
    over: dict[Buffer, Buffer] = {}
    for index, call in enumerate(calls):
        for source, target in call.in_place:
            old, new = source.buffer, target.buffer
            place = (old.storage, old.index, old.offset)
            if old is new or new in over or place != (new.storage, new.index, new.offset):
                continue
            if new.storage in (Storage.ARENA, Storage.OUTPUT) and found[new][0] == index == found[old][1]:
                over[new] = old
    return over


def _held_values(lowering: Lowering, records: Records) -> dict[Buffer, list[int]]:
    """The values that lie in each buffer, views of others included, in order of appearance."""
    held: dict[Buffer, list[int]] = {}
    graph = lowering.graph
    for value in (*graph.inputs, *(v for node in graph.nodes for v in node.outputs)):
        if not value.is_constant:
            held.setdefault(lowering.read(value).buffer, []).append(records.value(value))
    return held


def _live(calls: Sequence[Call], found: dict[Buffer, tuple[int, int]], over: dict[Buffer, Buffer]) -> list[int]:
    steps = [0] * (len(calls) + 1)
    for buffer, (first, last) in found.items():
        if buffer.storage is not Storage.ARENA:
            continue
        # A buffer that takes over another's memory adds nothing in the row where both are live.
        size = -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        steps[first + (buffer in over)] += size
        steps[last + 1] -= size
    live, total = [], 0
    for step in steps[: len(calls)]:
        total += step
        live.append(total)
    return live
