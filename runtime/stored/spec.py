"""A program's plain data as it stands in a file (docs/bsl-format.md, kind PROGRAM)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from basalt.errors import ModelFormatError
from basalt.serialization.program.fields import Fields

from ..described import TensorSpec
from ..tables import Constants, ProgramTables, RowColumn, SlotKind

if TYPE_CHECKING:
    from ..spec import KernelCode, Row, Slot

__all__ = ["StoredSpec", "tensor_specs"]

_ALIGNMENT = 64


class StoredSpec:
    """What a file says of one program; a :class:`..described.Described`.

    Args:
        fields: the program's record.
        weights: the byte vectors that hold constants.
        kernels: how many kernels the program's code has.
        notes: gives the record of what is for people only: labels and figures of rows and kernels.
    """

    def __init__(
        self, fields: Fields, weights: Sequence[np.ndarray], kernels: int, notes: Callable[[], Fields]
    ) -> None:
        self._fields = fields
        self._notes = notes
        self.inputs = tensor_specs(fields, "inputs")
        self.outputs = tensor_specs(fields, "outputs")
        self.arena_bytes = fields.integer("arena")
        self.kernel_numbers = fields.array("kernels", "int64", (None,))
        if self.kernel_numbers.size and not 0 <= self.kernel_numbers.min() <= self.kernel_numbers.max() < kernels:
            fields.fail("kernels", f"there are {kernels}, but number {self.kernel_numbers.max()} is used")
        self.carried = [(output, entry) for output, entry in fields.array("carried", "int64", (None, 2)).tolist()]
        self.tables = _tables(fields)
        self.memory = _constants(fields, weights)

    def row_label(self, index: int) -> str:
        """What the user calls the operators of a row; often empty."""
        return self._labels("labels", len(self.tables.rows))[index]

    @property
    def kernel_count(self) -> int:
        """How many kernels the program has."""
        return len(self.kernel_numbers)

    @cached_property
    def kernels(self) -> Sequence[KernelCode]:
        """The kernels with their labels; there is no source."""
        from ..spec import KernelCode

        labels = self._labels("kernels", len(self.kernel_numbers))
        return [KernelCode("", "", (), label) for label in labels]

    @cached_property
    def rows(self) -> Sequence[Row]:
        """The rows for people and tools; frames are made from the tables."""
        from ..spec import Row

        notes, count = self._notes(), len(self.tables.rows)
        labels, dtypes = self._labels("labels", count), self._labels("dtypes", count)
        operations, nbytes = (notes.array(name, "int64", (count,)).tolist() for name in ("operations", "nbytes"))
        slots = iter(self._slots())
        rows = []
        for index, (row, cost) in enumerate(zip(self.tables.rows.tolist(), self.tables.costs.tolist())):
            kernel, start, stop, least, serial, free, length = row
            own = tuple([next(slots) for _ in range(length)])
            facts = (labels[index], operations[index], nbytes[index], dtypes[index])
            rows.append(Row(kernel, own, start, stop, cost, least, bool(serial), free, *facts))
        return rows

    def _slots(self) -> list[Slot]:
        from ..spec import Slot

        tables = self.tables
        reals = tables.slot_values.view(np.float64).tolist()
        return [
            Slot(SlotKind(kind), index, real if kind == SlotKind.FLOAT else value)
            for kind, index, value, real in zip(
                tables.slot_kinds.tolist(), tables.slot_indices.tolist(), tables.slot_values.tolist(), reals
            )
        ]

    def _labels(self, name: str, count: int) -> tuple[str, ...]:
        notes = self._notes()
        labels = notes.texts(name)
        if len(labels) != count:
            notes.fail(name, f"{len(labels)} texts given, expected {count}")
        return labels


def tensor_specs(fields: Fields, name: str) -> tuple[TensorSpec, ...]:
    """Tensors of known sizes, each a tuple of name, data type and sizes."""
    return tuple([_tensor(fields, name, value) for value in fields.plain(name)])


def _tensor(fields: Fields, name: str, value: Any) -> TensorSpec:
    match value:
        case (str() as tensor, str() as dtype, tuple() as shape) if all(type(d) is int and d >= 0 for d in shape):
            return TensorSpec(tensor, dtype, shape)
    fields.fail(name, f"{value!r} given, expected a name, a data type and sizes")


def _tables(fields: Fields) -> ProgramTables:
    rows = fields.array("rows", "int64", (None, RowColumn.COUNT))
    kinds = fields.array("slot_kinds", "uint8", (None,))
    return ProgramTables(
        rows,
        fields.array("costs", "float64", (len(rows),)),
        kinds,
        fields.array("slot_indices", "int64", (len(kinds),)),
        fields.array("slot_values", "int64", (len(kinds),)),
    )


def _constants(fields: Fields, weights: Sequence[np.ndarray]) -> Constants:
    """Where the constants lie in the mapped file."""
    places = fields.array("constants", "int64", (None, 3))
    part, offset, size = places.T
    room = np.array([len(vector) for vector in weights], np.int64)
    if ((part < 0) | (part >= len(weights))).any():
        fields.fail("constants", f"one lies in part {part.max()}, but there are {len(weights)}")
    end = room[part] if len(part) else part
    if ((offset < 0) | (size < 0) | (offset > end) | (size > end - offset) | (offset % _ALIGNMENT != 0)).any():
        raise ModelFormatError(f"{fields.where}: constants: one lies outside of its part or is not aligned")
    bases = np.array([vector.ctypes.data for vector in weights], np.int64)
    addresses = bases[part] + offset if len(part) else part.copy()
    return Constants(np.ascontiguousarray(addresses), np.ascontiguousarray(size), tuple(weights))
