"""Time that each row of a program takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from basalt.errors import ValidationError

from .feeds import prepare_inputs, prepare_outputs
from .frame import Frame
from .layout import Row as RowWord
from .layout import Status
from .program import Program
from .threads import THREADS

__all__ = ["RowTime", "profile"]


class RowTime(NamedTuple):
    """One row's share of a run; times in nanoseconds."""

    label: str
    """The user's label(s) of the operators that the row computes."""
    kernel: str
    """What the kernel does."""
    median: float
    best: float
    estimate: float
    """The compiler's estimate, for one core."""
    chunks: int
    """Pieces that the row is cut into; 1 if it runs on one thread."""
    operations: int
    """Operations on numbers, of :attr:`dtype`."""
    nbytes: int
    """Bytes that the row reads and writes at least."""
    dtype: str
    """float32, float64 or int8; empty if the row only moves data."""


def profile(program: Program, feeds: Mapping[str, Any], repeats: int = 20) -> list[RowTime]:
    """Runs the program row by row ``repeats`` times and measures each row, with the threads that it would use.

    A parallel row pays for its own launch of the threads here, which a whole run shares among rows: up to some
    microseconds. Raises ValidationError for wrong feeds or fewer than one repeat, BasaltError if an operator fails.
    """
    if repeats < 1:
        raise ValidationError(f"profile: {repeats} repeats given, expected at least 1")
    inputs = prepare_inputs(program.spec.inputs, feeds)
    outputs, _ = prepare_outputs(program.spec.outputs, None, inputs)
    with program.frame() as frame, THREADS.guard or nullcontext():
        team = frame.team
        frame.groups[:] = range(1, len(frame.groups) + 1)
        frame.bind((*inputs, *outputs))
        try:
            return _summary(program, frame, _measure(program, frame, repeats))
        finally:
            frame.team, frame.epoch = team, -1


def _measure(program: Program, frame: Frame, repeats: int) -> np.ndarray:
    """Nanoseconds by repeat and row."""
    execute, address = program.code.executor.execute, frame.address
    parallel = [frame.team > 1 and chunks > 1 for chunks in frame.rows[:, RowWord.CHUNKS]]
    # A team of one would run all rows and not look at the regions.
    frame.team = max(frame.team, 2)
    times = np.zeros((repeats, len(parallel)))
    for repeat in range(repeats):
        for row, together in enumerate(parallel):
            frame.set_regions([(row, row + 1, together)])
            start = time.perf_counter_ns()
            status = execute(address)
            times[repeat, row] = time.perf_counter_ns() - start
            if status != Status.DONE:
                raise program.failure(status)
    return np.maximum(times - _overhead(program, frame), 0)


def _overhead(program: Program, frame: Frame) -> float:
    """Nanoseconds of measuring nothing."""
    frame.set_regions([])
    samples = []
    for _ in range(50):
        start = time.perf_counter_ns()
        program.code.executor.execute(frame.address)
        samples.append(time.perf_counter_ns() - start)
    return statistics.median(samples)


def _summary(program: Program, frame: Frame, times: np.ndarray) -> list[RowTime]:
    medians, bests = np.median(times, axis=0), times.min(axis=0)
    chunks = frame.rows[:, RowWord.CHUNKS]
    kernels = program.spec.kernels
    return [
        RowTime(
            label=row.label,
            kernel=kernels[row.kernel].label,
            median=float(medians[i]),
            best=float(bests[i]),
            estimate=row.cost,
            chunks=int(chunks[i]),
            operations=row.operations,
            nbytes=row.nbytes,
            dtype=row.dtype,
        )
        for i, row in enumerate(program.spec.rows)
    ]
