"""Checks that a program's plain data does not contradict itself, so that running it cannot leave its memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from basalt.errors import ValidationError

from .spec import ProgramSpec, Row, Slot, SlotKind, TensorSpec

__all__ = ["check_spec"]

_INT64 = 1 << 63


def check_spec(spec: ProgramSpec) -> None:
    """Raises ValidationError if an index, offset or size is out of range or a name occurs twice.

    What the kernels do with the addresses that they are given cannot be checked.
    """
    for kind, tensors in (("input", spec.inputs), ("output", spec.outputs)):
        _check_tensors(kind, tensors)
    if spec.arena_bytes < 0:
        raise ValidationError(f"program: arena of {spec.arena_bytes} bytes")
    limits = {
        SlotKind.INPUT: [tensor.nbytes for tensor in spec.inputs],
        SlotKind.OUTPUT: [tensor.nbytes for tensor in spec.outputs],
        SlotKind.CONST: [constant.nbytes for constant in spec.constants],
        SlotKind.ARENA: [spec.arena_bytes],
    }
    for index, row in enumerate(spec.rows):
        where = f"program: row {index} ({row.label or 'no label'})"
        _check_row(where, row, len(spec.kernels))
        for slot in row.slots:
            _check_slot(where, slot, limits)


def _check_tensors(kind: str, tensors: Sequence[TensorSpec]) -> None:
    names = [tensor.name for tensor in tensors]
    if len(set(names)) != len(names):
        raise ValidationError(f"program: two {kind}s of one name among {names}")
    for tensor in tensors:
        if any(size < 0 for size in tensor.shape) or not 0 <= tensor.nbytes < _INT64:
            raise ValidationError(f"program: {kind} {tensor.name!r} has shape {list(tensor.shape)}")


def _check_row(where: str, row: Row, kernels: int) -> None:
    if not 0 <= row.kernel < kernels:
        raise ValidationError(f"{where}: kernel {row.kernel} of {kernels}")
    if not -_INT64 <= row.start <= row.stop < _INT64 or row.min_chunk < 1:
        raise ValidationError(f"{where}: units {row.start} to {row.stop}, at least {row.min_chunk} a chunk")
    if not (math.isfinite(row.cost) and row.cost >= 0):
        raise ValidationError(f"{where}: cost {row.cost}")


def _check_slot(where: str, slot: Slot, limits: dict[SlotKind, list[int]]) -> None:
    if slot.kind is SlotKind.FLOAT:
        return
    if isinstance(slot.value, float):
        raise ValidationError(f"{where}: {slot} needs a whole number")
    sizes = limits.get(slot.kind)
    if sizes is None:
        if not -_INT64 <= slot.value < _INT64:
            raise ValidationError(f"{where}: {slot} is no 64-bit number")
    elif not 0 <= slot.index < len(sizes):
        raise ValidationError(f"{where}: {slot} names one of {len(sizes)} buffers")
    elif not 0 <= slot.value <= sizes[slot.index]:
        raise ValidationError(f"{where}: {slot} lies outside a buffer of {sizes[slot.index]} bytes")
