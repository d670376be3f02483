"""How rows are cut into chunks for a number of threads, and which rows share one launch of the team."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .spec import Row

__all__ = ["RowPlan", "Schedule", "schedule"]

CHUNK = 4_000.0
"""Least nanoseconds of work in a chunk: handing out a chunk costs about 100, moving its data between cores more."""
CHUNKS_PER_THREAD = 4
"""Chunks a thread for long rows, so that a thread that is held up leaves its share to the others."""
LONG_CHUNK = 50_000.0
"""Nanoseconds of work in a chunk above which rows are cut finer than one chunk a thread."""
GAP = 20_000.0
"""Most nanoseconds of serial rows between two parallel ones that helpers are kept waiting through."""
LAUNCH = 10_000.0
"""Nanoseconds that a region must save to be worth a launch."""


class RowPlan(NamedTuple):
    """``chunks`` chunks of ``step`` units (the last may be smaller); one chunk means serial."""

    step: int
    chunks: int


class Schedule(NamedTuple):
    """Plans of all rows, and regions ``(first row, last row + 1, parallel)`` that cover them in order."""

    rows: tuple[RowPlan, ...]
    regions: tuple[tuple[int, int, bool], ...]

    @property
    def is_parallel(self) -> bool:
        return any(parallel for _, _, parallel in self.regions)


def schedule(rows: Sequence[Row], threads: int) -> Schedule:
    """The schedule for ``threads`` threads; with one, everything is serial."""
    plans = tuple(_plan(row, threads) for row in rows)
    return Schedule(plans, tuple(_regions(rows, plans, threads)))


def _plan(row: Row, threads: int) -> RowPlan:
    units = row.stop - row.start
    whole = RowPlan(max(units, 1), 1)
    if row.serial or threads <= 1 or units <= row.min_chunk:
        return whole
    wanted = min(int(row.cost / CHUNK), threads)
    if row.cost / threads > LONG_CHUNK:
        wanted = min(int(row.cost / LONG_CHUNK), threads * CHUNKS_PER_THREAD)
        wanted -= wanted % threads
    if wanted <= 1:
        return whole
    grains = -(-units // row.min_chunk)
    step = -(-grains // wanted) * row.min_chunk
    return RowPlan(step, -(-units // step))


def _regions(rows: Sequence[Row], plans: Sequence[RowPlan], threads: int) -> list[tuple[int, int, bool]]:
    """Joins parallel rows with little serial work between them; what saves less than a launch stays serial."""
    regions: list[tuple[int, int, bool]] = []
    done = 0
    for first, last in _clusters(rows, plans):
        saved = sum(
            row.cost * (1 - 1 / min(plan.chunks, threads)) for row, plan in zip(rows[first:last], plans[first:last])
        )
        if saved < LAUNCH:
            continue
        if first > done:
            regions.append((done, first, False))
        regions.append((first, last, True))
        done = last
    if done < len(rows):
        regions.append((done, len(rows), False))
    return regions


def _clusters(rows: Sequence[Row], plans: Sequence[RowPlan]) -> list[tuple[int, int]]:
    """Runs of rows that start and end with a parallel row and hold no serial stretch longer than GAP."""
    clusters: list[tuple[int, int]] = []
    gap = 0.0
    for index, (row, plan) in enumerate(zip(rows, plans)):
        if plan.chunks <= 1:
            gap += row.cost
        elif clusters and gap <= GAP:
            clusters[-1] = (clusters[-1][0], index + 1)
            gap = 0.0
        else:
            clusters.append((index, index + 1))
            gap = 0.0
    return clusters
