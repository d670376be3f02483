"""Runs a graph over rows: in one go where they are few, else a fixed number at a time.

A chunk's rows, intermediates and results stay in a second-level cache, memory is bounded whatever the number of rows,
and two programs serve every number above a chunk's: no row is computed with others than its chunk's.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from basalt.ops import SymDim, numpy_dtype
from basalt.runtime.threads import THREADS

from ..executable import Executable
from ..ir import Constants, Graph
from .folding import folded_scaling

__all__ = ["CANONICAL", "Chunks", "row_executable"]

CANONICAL = 256
"""Rows whose choices between kernels every program follows, so that none depends on which ran before."""
BUDGET = 1 << 20
"""Bytes of a chunk: half of a second-level cache, of which kernels want some for weights."""
FEWEST, MOST = 16, 4096
"""Bounds of a chunk's rows: of more the calls cost nothing any more, of fewer tiles are not full."""
THREADED = 1e6
"""Nanoseconds of work from which on threads that take whole chunks are worth starting."""

Look = Callable[[np.ndarray, Sequence[np.ndarray]], None]
"""Raises for rows that are to be refused, given the results for them."""


def row_executable(graph: Graph, constants: Constants, threads: int | None) -> Executable:
    """A graph over rows whose results do not depend on the numbers of rows that it ran with before.

    It never runs through NumPy, which rounds otherwise than compiled code.
    """
    graph, constants = folded_scaling(graph, constants)
    names = {name for v in graph.inputs for d in v.shape if isinstance(d, SymDim) for name in d.symbols()}
    return Executable(graph, constants, threads=threads, eager=False, canonical=dict.fromkeys(names, CANONICAL))


class Chunks:
    """A graph of one input [rows, columns], whose outputs have a row for each row or are flags for all of them.

    Args:
        executable: what :func:`row_executable` gave.
        kept: the number of outputs that are results; those after them are flags.
        look: called with the rows and all outputs of each run.
    """

    def __init__(self, executable: Executable, kept: int, look: Look | None = None) -> None:
        (entry,) = executable.graph.inputs
        self._executable = executable
        self._input = entry.name
        self._width = int(entry.shape[1])
        self.dtype = numpy_dtype(entry.dtype)
        self._names = tuple(name for name, _ in executable.graph.outputs)
        self._results = executable.graph.outputs[:kept]
        self.look = look
        self._programs: dict[int, Any] = {}
        self._serial: Any = None
        self._size: int | None = None
        rows = entry.shape[0]
        self._splits = isinstance(rows, SymDim) and all(v.shape and v.shape[0] == rows for _, v in self._results)
        self.ready: dict[tuple[int, ...], Callable[[tuple[np.ndarray]], tuple[np.ndarray, ...] | None]] = {}
        """By shape of the rows: what computes all outputs, None for an array that must be copied first."""

    @property
    def size(self) -> int:
        """The rows of a chunk, a power of 2."""
        if self._size is None:
            spec = self._executable.canonical_spec()
            bytes_of_row = (spec.arena_bytes + sum(t.nbytes for t in (*spec.inputs, *spec.outputs))) / CANONICAL
            self._size = min(MOST, max(FEWEST, 1 << (int(BUDGET / max(bytes_of_row, 1.0)).bit_length() - 1)))
        return self._size

    def run(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """The results for rows [rows, columns] of numbers, which are converted to the working data type.

        Raises:
            ValidationError: as ``look`` does.
        """
        if self._splits and len(rows) > self.size:
            return self._run_many(rows)
        usable = np.ascontiguousarray(rows, self.dtype)
        found = self._computed(self._program(len(rows)), usable)
        if self.look is not None:
            self.look(usable, found)
        return found[: len(self._results)]

    def _program(self, rows: int) -> Any:
        program = self._programs.get(rows)
        if program is None:
            program = self._executable.compile({self._input: (rows, self._width)})
            if len(self._programs) >= 64:
                self._programs.clear()
                self.ready.clear()
            self._programs[rows] = program
            compute = getattr(program, "compute", None)
            if compute is not None:
                self.ready[rows, self._width] = compute
        return program

    def _computed(
        self, program: Any, rows: np.ndarray, outputs: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, ...]:
        compute = getattr(program, "compute", None)
        found = None if compute is None else compute((rows,), outputs)
        if found is None:
            out = None if outputs is None else dict(zip(self._names, outputs))
            found = tuple(program.run({self._input: rows}, out).values())
        return found

    def _run_many(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        count = len(rows)
        results = tuple(
            np.empty((count, *(int(d) for d in v.shape[1:])), numpy_dtype(v.dtype)) for _, v in self._results
        )
        program = self._program(self.size)
        team = self._team(program, count // self.size)
        if team > 1 and self._serial is None:
            self._serial = type(program)(program.spec, program.code, threads=1)
        _Run(self, rows, results, self._serial if team > 1 else program).go(team)
        return results

    def _team(self, program: Any, chunks: int) -> int:
        """Threads to share the chunks; 1 where a chunk's own kernels are better shared, or nothing is."""
        spec = getattr(program, "spec", None)
        threads = THREADS.count if getattr(program, "threads", None) is None else program.threads
        if spec is None or chunks < 2 * threads or chunks * sum(row.cost for row in spec.rows) < THREADED:
            return 1
        return int(threads)


class _Run:
    """One pass over many rows, by one or several threads that take chunks in turn."""

    def __init__(self, chunks: Chunks, rows: np.ndarray, results: Sequence[np.ndarray], program: Any) -> None:
        self.chunks, self.rows, self.results, self.program = chunks, rows, results, program
        self.size = chunks.size
        self.is_shared = False
        self.in_place = rows.dtype is chunks.dtype and rows.flags.c_contiguous and rows.flags.aligned
        self.next = itertools.count(0, self.size)
        self.errors: list[tuple[int, BaseException]] = []

    def go(self, team: int) -> None:
        """Raises the error of the first chunk that has one, whichever thread met it."""
        self.is_shared = team > 1
        helpers = [threading.Thread(target=self._work, daemon=True) for _ in range(team - 1)]
        for helper in helpers:
            helper.start()
        self._work()
        for helper in helpers:
            helper.join()
        if self.errors:
            raise min(self.errors, key=lambda error: error[0])[1]

    def _work(self) -> None:
        start = 0
        try:
            buffer = None if self.in_place else np.empty((self.size, self.chunks._width), self.chunks.dtype)
            flags = self._flags()
            for start in self._starts():
                self._chunk(start, buffer, flags)
        except BaseException as error:
            self.errors.append((start, error))

    def _starts(self) -> Iterator[int]:
        while not self.errors and (start := next(self.next)) < len(self.rows):
            yield start

    def _flags(self) -> tuple[np.ndarray, ...]:
        specs = self.program.spec.outputs if hasattr(self.program, "spec") else ()
        return tuple(np.empty(s.shape, numpy_dtype(s.dtype)) for s in specs[len(self.results) :])

    def _chunk(self, start: int, buffer: np.ndarray | None, flags: tuple[np.ndarray, ...]) -> None:
        """Compute a chunk's results where they belong; the last, smaller one with some rows before it again."""
        chunks, stop = self.chunks, min(start + self.size, len(self.rows))
        rows = self.rows[stop - self.size : stop]
        if buffer is not None:
            np.copyto(buffer, rows, casting="unsafe")
            rows = buffer
        # Another thread may be at the rows before the last chunk, and kernels use results as memory of their own.
        aside = self.is_shared and stop - start < self.size
        places = tuple([np.empty_like(r[: self.size]) if aside else r[stop - self.size : stop] for r in self.results])
        found = chunks._computed(self.program, rows, (*places, *flags))
        if chunks.look is not None:
            chunks.look(rows, found)
        if aside:
            for result, place in zip(self.results, places):
                result[start:stop] = place[start - stop :]
