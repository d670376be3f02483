"""Runs compiled programs under watch: guard bytes around outputs and arena, stale memory, any cut of the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from basalt.compiler.codegen.compile import load_kernels
from basalt.compiler.ir import Constants, Graph
from basalt.compiler.lower import compile_spec
from basalt.ops import numpy_dtype
from basalt.runtime.program import Program
from basalt.runtime.spec import ProgramSpec, Row, Slot, SlotKind

__all__ = ["run_compiled", "run_watched"]

GUARD = 256
"""Bytes before and after a watched block; a multiple of the arena's alignment."""
PATTERN = 0xA5
_LONG = 1e9
"""Nanoseconds of a row that is cut into as many chunks as there may be."""


def run_compiled(
    graph: Graph,
    constants: Constants,
    feeds: Mapping[str, np.ndarray],
    *,
    optimise: bool = True,
    split: bool = False,
    threads: int = 2,
) -> dict[str, np.ndarray]:
    """The outputs of the compiled program, watched as :func:`run_watched` does; ``split`` cuts every row to pieces."""
    return run_watched(compile_spec(graph, constants, optimise=optimise), feeds, split=split, threads=threads)


def run_watched(
    spec: ProgramSpec, feeds: Mapping[str, np.ndarray], *, split: bool = False, threads: int = 2
) -> dict[str, np.ndarray]:
    """Runs a program twice, on an arena of unlike contents each time, and checks that it keeps inside its memory.

    Raises:
        AssertionError: if a byte outside the outputs and the arena, or of the inputs or constants, was written, or if
            the runs differ, as they do when something is read that was never written.
    """
    if split:
        spec = replace(spec, rows=tuple(replace(row, cost=_LONG) for row in spec.rows))
    program = Program(_with_guards(spec), load_kernels(spec.kernels), threads=threads)
    given = {name: np.array(array, order="C") for name, array in feeds.items()}
    stored = [np.array(c) for c in spec.constants]
    first, second = (_run(program, spec, given, byte) for byte in (0x00, PATTERN))
    for name, array in first.items():
        _assert_same_bytes(array, second[name], f"output {name} depends on what was in the arena before")
    for name, array in feeds.items():
        _assert_same_bytes(given[name], np.array(array, order="C"), f"input {name} was written to")
    for before, after in zip(stored, spec.constants):
        _assert_same_bytes(before, np.asarray(after), "a constant was written to")
    return first


def _run(program: Program, spec: ProgramSpec, feeds: dict[str, np.ndarray], stale: int) -> dict[str, np.ndarray]:
    blocks = {t.name: np.full(t.nbytes + 2 * GUARD, PATTERN, np.uint8) for t in spec.outputs}
    out = {
        t.name: blocks[t.name][GUARD : GUARD + t.nbytes].view(numpy_dtype(t.dtype)).reshape(t.shape)
        for t in spec.outputs
    }
    if not program._idle:
        program.run(feeds)
    (frame,) = program._idle
    frame.arena[:] = stale
    frame.arena[:GUARD] = frame.arena[-GUARD:] = PATTERN
    program.run(feeds, out)
    for name, block in [*blocks.items(), ("the arena", frame.arena)]:
        assert (block[:GUARD] == PATTERN).all(), f"bytes before {name} were written"
        assert (block[-GUARD:] == PATTERN).all(), f"bytes after {name} were written"
    return out


def _with_guards(spec: ProgramSpec) -> ProgramSpec:
    """The program with its arena moved into the middle of a larger one."""

    def moved(row: Row) -> Row:
        return replace(row, slots=tuple(_moved(slot) for slot in row.slots))

    return replace(spec, rows=tuple(map(moved, spec.rows)), arena_bytes=spec.arena_bytes + 2 * GUARD)


def _moved(slot: Slot) -> Slot:
    return replace(slot, value=slot.value + GUARD) if slot.kind is SlotKind.ARENA else slot


def _assert_same_bytes(a: np.ndarray, b: np.ndarray, message: str) -> None:
    assert a.tobytes() == b.tobytes(), message
