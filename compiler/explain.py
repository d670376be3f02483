"""What a program consists of, for people: its kernels in order and their source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from basalt.runtime.spec import ProgramSpec, Row

__all__ = ["Explanation", "KernelRow", "explain", "source_of"]

_COLUMNS = ("#", "kernel", "units", "split", "est. us", "%", "operators")
_RIGHT = frozenset({"#", "units", "est. us", "%"})
_MAX_LABELS = 60


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One call of a kernel.

    ``kernel`` is the number of its code in the program, ``kind`` what it computes, ``labels`` the user's own of the
    operators in it, ``units`` the pieces of work that threads may share, ``microseconds`` the estimate for one core.
    """

    index: int
    kernel: int
    kind: str
    labels: str
    units: int
    serial: bool
    microseconds: float


@dataclass(frozen=True)
class Explanation:
    """The table of a program's kernels; ``str()`` shows it."""

    rows: tuple[KernelRow, ...]
    kernels: int
    arena_bytes: int
    constant_bytes: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[KernelRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        total = sum(row.microseconds for row in self.rows)
        cells = [_cells(row, total) for row in self.rows]
        lines = _table([_COLUMNS, *cells])
        summary = (
            f"{len(self.rows)} calls of {self.kernels} kernels, {total:.1f} us estimated on one core; "
            f"{self.constant_bytes} bytes of constants, {self.arena_bytes} bytes of arena"
        )
        return "\n".join([*lines, summary])


def explain(spec: ProgramSpec) -> Explanation:
    """The table of a program's kernels."""
    rows = tuple(_row(i, row, spec) for i, row in enumerate(spec.rows))
    constants = {id(array): array.nbytes for array in spec.constants}
    return Explanation(rows, len(spec.kernels), spec.arena_bytes, sum(constants.values()))


def source_of(spec: ProgramSpec) -> str:
    """The source of a program's kernels, each once, under a comment that says what it is and who calls it."""
    callers: dict[int, list[str]] = {}
    for index, row in enumerate(spec.rows):
        callers.setdefault(row.kernel, []).append(f"{index} {row.label!r}" if row.label else str(index))
    parts = []
    for number, kernel in enumerate(spec.kernels):
        called = ", ".join(callers.get(number, ["none"]))
        parts.append(f"# kernel {number}: {kernel.label or 'unnamed'}\n# calls: {called}\n{kernel.source.rstrip()}\n")
    return "\n\n".join(parts)


def _row(index: int, row: Row, spec: ProgramSpec) -> KernelRow:
    kind = spec.kernels[row.kernel].label
    return KernelRow(index, row.kernel, kind, row.label, row.stop - row.start, row.serial, row.cost / 1e3)


def _cells(row: KernelRow, total: float) -> tuple[str, ...]:
    share = f"{100 * row.microseconds / total:.1f}" if total else ""
    labels = row.labels if len(row.labels) <= _MAX_LABELS else row.labels[: _MAX_LABELS - 3] + "..."
    split = "no" if row.serial or row.units <= 1 else "yes"
    return (str(row.index), row.kind, str(row.units), split, f"{row.microseconds:.3g}", share, labels)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column in _RIGHT else cell.ljust(width)
            for cell, width, column in zip(row, widths, _COLUMNS)
        ).rstrip()
        for row in rows
    ]
