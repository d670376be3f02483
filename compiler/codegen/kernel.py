"""Writing one kernel: its Numba source, and the table slots that a row fills in for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..views import Buffer, View

_PRIMITIVE = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)*)\(")
_NOT_PRIMITIVES = frozenset({"range", "kernel", "min", "max"})


@dataclass(frozen=True, slots=True)
class Call:
    """One row of a program before memory is planned: a kernel and what it is called with.

    ``slots`` are views (buffer addresses), ints and floats. ``in_place`` pairs views that are read with results that
    may take over their memory: they have the same strides, and each element is read before it is written and never
    after. ``operations`` and ``dtype`` are :class:`basalt.runtime.Row`'s.
    """

    source: str
    names: tuple[str, ...]
    slots: tuple[View | int | float, ...]
    units: int
    cost: float
    min_chunk: int
    serial: bool
    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    in_place: tuple[tuple[View, View], ...] = ()
    kind: str = ""
    label: str = ""
    operations: int = 0
    dtype: str = ""


@dataclass
class KernelBuilder:
    """Collects the lines of a kernel ``(table, start, stop)`` and the slots of its table."""

    kind: str
    lines: list[str] = field(default_factory=list)
    slots: list[View | int | float] = field(default_factory=list)
    reads: list[Buffer] = field(default_factory=list)
    writes: list[Buffer] = field(default_factory=list)
    in_place: list[tuple[View, View]] = field(default_factory=list)
    _header: list[str] = field(default_factory=list)
    _depth: int = 1
    _temporaries: int = 0
    _known: dict[tuple[str, float | int], str] = field(default_factory=dict)

    def source(self, name: str, view: View) -> str:
        """Declare a buffer that is read; returns the pointer's name."""
        self.reads.append(view.buffer)
        return self._slot(name, view, "ptr")

    def target(self, name: str, view: View) -> str:
        """Declare a buffer that is written; returns the pointer's name."""
        self.writes.append(view.buffer)
        return self._slot(name, view, "ptr")

    def integer(self, name: str, value: int, literal: int = 1) -> str:
        """Declare an int64 parameter; constants up to ``literal`` in magnitude, which shape the code, stay literal."""
        if abs(value) <= literal:
            return str(value)
        return self._slot(name, value, "par_i64")

    def parameter(self, name: str, value: int) -> str:
        """Declare an int64 parameter, whatever its value: kernels that differ only in it are shared."""
        return self._slot(name, value, "par_i64")

    def real(self, name: str, value: float, suffix: str) -> str:
        """Declare a floating-point parameter of a register type (f32, f64)."""
        return self._slot(name, float(value), f"par_{suffix}")

    def typed_integer(self, name: str, value: int, suffix: str) -> str:
        """Declare an integer parameter of a register type; uint64 travels as its two's complement."""
        return self._slot(name, value - 2**64 if value >= 2**63 else value, f"par_{suffix}")

    def line(self, text: str) -> None:
        """Add a line at the current depth."""
        self.lines.append("    " * self._depth + text)

    def top(self, text: str) -> None:
        """Add a line before everything else that is not a declaration."""
        self._header.append("    " + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """``head:`` and an indented block."""
        self.open(head)
        yield
        self.close()

    def open(self, head: str) -> None:
        """Start an indented block after ``head:``, for loops whose number is not known beforehand."""
        self.line(head + ":")
        self._depth += 1

    def close(self, blocks: int = 1) -> None:
        """End the innermost blocks."""
        self._depth -= blocks

    def temporary(self, prefix: str = "t") -> str:
        """A fresh local name."""
        self._temporaries += 1
        return f"{prefix}{self._temporaries}"

    def define(self, text: str, prefix: str = "t") -> str:
        """Give an expression a fresh local name; returns it."""
        name = self.temporary(prefix)
        self.line(f"{name} = {text}")
        return name

    def call(self, units: int, cost: float, *, min_chunk: int = 1, serial: bool = False, label: str = "") -> Call:
        """The finished kernel as a row over ``units``; ``cost`` is in nanoseconds for the whole row on one core."""
        text = "\n".join([f"def kernel(table, start, stop):  # {self.kind}", *self._header, *self.lines]) + "\n"
        names = sorted(set(_PRIMITIVE.findall(text)) - _NOT_PRIMITIVES)
        return Call(
            text,
            tuple(names),
            tuple(self.slots),
            units,
            cost,
            min_chunk,
            serial,
            tuple(dict.fromkeys(self.reads)),
            tuple(dict.fromkeys(self.writes)),
            tuple(self.in_place),
            self.kind,
            label,
        )

    def _slot(self, name: str, value: View | int | float, reader: str) -> str:
        self._header.append(f"    {name} = {reader}(table, {len(self.slots)})")
        self.slots.append(value)
        return name
