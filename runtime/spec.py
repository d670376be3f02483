"""A compiled program as plain data: what the compiler hands to the runtime and what a ``.bsl`` file stores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .described import TensorSpec
from .memory import usable_constant
from .tables import Constants, ProgramTables, SlotKind, tables_of

__all__ = ["KernelCode", "ProgramSpec", "Row", "Slot", "SlotKind", "TensorSpec"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One entry of a row's table.

    * ``INPUT`` / ``OUTPUT`` / ``CONST``: the address of buffer ``index`` plus ``value`` bytes;
    * ``ARENA``: the address of the arena plus ``value`` bytes;
    * ``INT``: the int64 ``value``; ``FLOAT``: the bits of the float64 ``value``.
    """

    kind: SlotKind
    index: int = 0
    value: int | float = 0

    @staticmethod
    def input(index: int, offset: int = 0) -> Slot:
        return Slot(SlotKind.INPUT, index, offset)

    @staticmethod
    def output(index: int, offset: int = 0) -> Slot:
        return Slot(SlotKind.OUTPUT, index, offset)

    @staticmethod
    def const(index: int, offset: int = 0) -> Slot:
        return Slot(SlotKind.CONST, index, offset)

    @staticmethod
    def arena(offset: int) -> Slot:
        return Slot(SlotKind.ARENA, 0, offset)

    @staticmethod
    def integer(value: int) -> Slot:
        return Slot(SlotKind.INT, 0, value)

    @staticmethod
    def real(value: float) -> Slot:
        return Slot(SlotKind.FLOAT, 0, value)


@dataclass(frozen=True, slots=True)
class KernelCode:
    """Source of one kernel: Python text that defines one function ``(table, start, stop)`` for Numba.

    ``names`` lists the primitives that the text uses; the compile step resolves them. ``key`` is the hash of both.
    ``label`` says to people what the kernel does and takes no part in the key, so that equal kernels are shared.
    """

    key: str
    source: str
    names: tuple[str, ...] = ()
    label: str = field(default="", compare=False)

    @classmethod
    def of(cls, source: str, names: Sequence[str] = (), label: str = "") -> KernelCode:
        """The kernel with its key computed from ``source`` and ``names``."""
        digest = hashlib.sha256("\0".join((source, *names)).encode()).hexdigest()
        return cls(digest, source, tuple(names), label)


@dataclass(frozen=True, slots=True)
class Row:
    """One call of a kernel over the units ``start <= u < stop`` (what a unit is, is the kernel's business).

    The executor may split the units over threads: every cut lies a multiple of ``min_chunk`` units after ``start``.
    ``cost`` is the estimated time of the whole row on one core, in nanoseconds; cheap rows are not split.
    ``serial`` forbids splitting. ``free`` is how many of the rows right before it may run at the same time.
    ``label`` is the user's own label(s) of the operators that the row computes.

    For people who compare a row with what the machine can do: ``operations`` on numbers, which are of ``dtype``
    (float32, float64, int8; empty if there are none), and ``nbytes`` that it reads and writes at least.
    """

    kernel: int
    slots: tuple[Slot, ...]
    start: int
    stop: int
    cost: float
    min_chunk: int = 1
    serial: bool = False
    free: int = 0
    label: str = ""
    operations: int = 0
    nbytes: int = 0
    dtype: str = ""


@dataclass(frozen=True, eq=False)
class ProgramSpec:
    """A whole program: rows run in order; row ``r`` sees everything that earlier rows wrote."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    rows: tuple[Row, ...]
    kernels: tuple[KernelCode, ...]
    constants: tuple[np.ndarray, ...]
    arena_bytes: int
    carried: tuple[tuple[int, int], ...] = ()
    """Outputs and inputs, by number, that may be one array: what was an input's last use writes the output."""

    def row_label(self, index: int) -> str:
        """What the user calls the operators of a row; often empty."""
        return self.rows[index].label

    @property
    def kernel_count(self) -> int:
        """How many kernels there are."""
        return len(self.kernels)

    @cached_property
    def tables(self) -> ProgramTables:
        """The rows as arrays."""
        return tables_of(self.rows)

    @cached_property
    def memory(self) -> Constants:
        """Where the constants lie; those that kernels cannot read in place are copied."""
        usable = tuple([usable_constant(constant) for constant in self.constants])
        addresses = np.array([array.ctypes.data for array in usable], np.int64)
        return Constants(addresses, np.array([array.nbytes for array in usable], np.int64), usable)
