"""Checks that a program's plain data does not contradict itself, so that running it cannot leave its memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from basalt.errors import ValidationError

from .described import Described, TensorSpec
from .tables import ProgramTables, RowColumn, SlotKind

__all__ = ["check_spec"]

_INT64 = 1 << 63
_RANGE = (RowColumn.KERNEL, RowColumn.START, RowColumn.STOP, RowColumn.MIN_CHUNK)


def check_spec(spec: Described) -> None:
    """Raises ValidationError if an index, offset or size is out of range or a name occurs twice.

    What the kernels do with the addresses that they are given cannot be checked.
    """
    for kind, tensors in (("input", spec.inputs), ("output", spec.outputs)):
        _check_tensors(kind, tensors)
    if not 0 <= spec.arena_bytes < _INT64:
        raise ValidationError(f"program: arena of {spec.arena_bytes} bytes")
    for output, entry in spec.carried:
        if not (0 <= output < len(spec.outputs) and 0 <= entry < len(spec.inputs)):
            raise ValidationError(f"program: output {output} may be input {entry}, and one of them does not exist")
        if spec.outputs[output].nbytes != spec.inputs[entry].nbytes:
            raise ValidationError(f"program: output {output} may be input {entry}, which is of another size")
    tables = spec.tables
    _check_rows(spec, tables)
    _check_slots(spec, tables)


def _check_tensors(kind: str, tensors: Sequence[TensorSpec]) -> None:
    names = [tensor.name for tensor in tensors]
    if len(set(names)) != len(names):
        raise ValidationError(f"program: two {kind}s of one name among {names}")
    for tensor in tensors:
        if any(size < 0 for size in tensor.shape) or not 0 <= tensor.nbytes < _INT64:
            raise ValidationError(f"program: {kind} {tensor.name!r} has shape {list(tensor.shape)}")


def _check_rows(spec: Described, tables: ProgramTables) -> None:
    rows, costs = tables.rows, tables.costs
    kernel, start, stop, least = (rows[:, c] for c in _RANGE)
    kernels = spec.kernel_count
    for index in _places((kernel < 0) | (kernel >= kernels)):
        _fail(spec, index, f"kernel {kernel[index]} of {kernels}")
    # Units are added to and subtracted from each other, which half of the range leaves room for.
    for index in _places((start < -_INT64 // 2) | (start > stop) | (stop >= _INT64 // 2) | (least < 1)):
        _fail(spec, index, f"units {start[index]} to {stop[index]}, at least {least[index]} a chunk")
    for index in _places(~(np.isfinite(costs) & (costs >= 0))):
        _fail(spec, index, f"cost {costs[index]}")
    free = rows[:, RowColumn.FREE]
    for index in _places((free < 0) | (free > np.arange(len(rows)))):
        _fail(spec, index, f"may run with {free[index]} rows before it")
    slots = rows[:, RowColumn.SLOTS]
    if (slots < 0).any() or slots.sum() != len(tables.slot_kinds):
        raise ValidationError(f"program: rows with {slots.sum()} slots in all, {len(tables.slot_kinds)} given")


def _check_slots(spec: Described, tables: ProgramTables) -> None:
    kinds, indices, values = tables.slot_kinds, tables.slot_indices, tables.slot_values
    for slot in _places(kinds > max(SlotKind)):
        _fail_slot(spec, slot, "is of an unknown kind")
    for kind, sizes in (
        (SlotKind.INPUT, [tensor.nbytes for tensor in spec.inputs]),
        (SlotKind.OUTPUT, [tensor.nbytes for tensor in spec.outputs]),
        (SlotKind.CONST, spec.memory.sizes),
        (SlotKind.ARENA, [spec.arena_bytes]),
    ):
        places = np.flatnonzero(kinds == kind)
        among = indices[places]
        for slot in places[(among < 0) | (among >= len(sizes))]:
            _fail_slot(spec, slot, f"names one of {len(sizes)} buffers")
        room = np.asarray(sizes, np.int64)[among] if len(sizes) else among
        outside = (values[places] < 0) | (values[places] > room)
        for slot, nbytes in zip(places[outside], room[outside]):
            _fail_slot(spec, slot, f"lies outside a buffer of {nbytes} bytes")


def _places(wrong: np.ndarray) -> list[int]:
    """Where a condition holds."""
    found: list[int] = np.flatnonzero(wrong).tolist()
    return found


def _fail_slot(spec: Described, slot: int, message: str) -> NoReturn:
    tables = spec.tables
    ends = np.cumsum(tables.rows[:, RowColumn.SLOTS])
    index = int(np.searchsorted(ends, slot, side="right"))
    kind, among, value = tables.slot_kinds[slot], tables.slot_indices[slot], tables.slot_values[slot]
    name = SlotKind(kind).name if kind <= max(SlotKind) else f"kind {kind}"
    _fail(spec, index, f"slot {name} of buffer {among} at {value} {message}")


def _fail(spec: Described, index: int, message: str) -> NoReturn:
    raise ValidationError(f"program: row {index} ({spec.row_label(index) or 'no label'}): {message}")
