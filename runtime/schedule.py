"""How rows are cut into chunks for a number of threads, which run together, and which share one launch of the team."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .tables import ProgramTables, RowColumn

__all__ = ["RowPlan", "Schedule", "Timing", "schedule", "timings"]

CHUNK = 4_000.0
"""Least nanoseconds of work in a chunk: handing out a chunk costs about 100, moving its data between cores more."""
CHUNKS_PER_THREAD = 4
"""Chunks a thread for long rows, so that a thread that is held up leaves its share to the others."""
LONG_CHUNK = 50_000.0
"""Nanoseconds of work in a chunk above which rows are cut finer than one chunk a thread."""
GAP = 20_000.0
"""Most nanoseconds of serial rows between two parallel ones that helpers are kept waiting through."""
BARRIER = 500.0
"""Nanoseconds that the team loses between two rows: the last one to finish is waited for, the next one opened."""
LAUNCH = 10_000.0
"""Nanoseconds that a region must save to be worth a launch."""


class Timing(NamedTuple):
    """What the schedule of a row depends on (see :class:`.spec.Row`)."""

    start: int
    stop: int
    min_chunk: int
    serial: bool
    free: int
    cost: float


def timings(tables: ProgramTables) -> list[Timing]:
    """What the schedule of a program depends on."""
    rows = tables.rows[:, RowColumn.START : RowColumn.FREE + 1].tolist()
    return [
        Timing(start, stop, least, bool(serial), free, cost)
        for (start, stop, least, serial, free), cost in zip(rows, tables.costs.tolist())
    ]


class RowPlan(NamedTuple):
    """``chunks`` chunks of ``step`` units (the last may be smaller); one chunk means serial."""

    step: int
    chunks: int


class Schedule(NamedTuple):
    """Plans of all rows, and regions ``(first row, last row + 1, parallel)`` that cover them in order.

    ``groups`` says for each row up to which one (exclusive) rows are opened to the team at once, if it is the first.
    """

    rows: tuple[RowPlan, ...]
    regions: tuple[tuple[int, int, bool], ...]
    groups: tuple[int, ...]

    @property
    def is_parallel(self) -> bool:
        return any(parallel for _, _, parallel in self.regions)


def schedule(rows: Sequence[Timing], threads: int) -> Schedule:
    """The schedule for ``threads`` threads; with one, everything is serial."""
    if threads <= 1:
        whole = tuple([RowPlan(max(row.stop - row.start, 1), 1) for row in rows])
        return Schedule(whole, ((0, len(rows), False),) if rows else (), tuple(range(1, len(rows) + 1)))
    plans = tuple([_plan(row, threads) for row in rows])
    groups = _groups(rows, plans, threads)
    ends = list(range(1, len(rows) + 1))
    for group in groups:
        ends[group.first] = group.last
    return Schedule(plans, tuple(_regions(groups, len(rows))), tuple(ends))


class _Group(NamedTuple):
    """Rows that are opened to the team at once; nanoseconds on one thread and on all."""

    first: int
    last: int
    serial: float
    together: float


def _plan(row: Timing, threads: int) -> RowPlan:
    units = row.stop - row.start
    whole = RowPlan(max(units, 1), 1)
    if row.serial or units <= row.min_chunk:
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


def _groups(rows: Sequence[Timing], plans: Sequence[RowPlan], threads: int) -> list[_Group]:
    """Rows by themselves, or with those after them that need not wait for them, where that is faster."""
    groups: list[_Group] = []
    first = 0
    while first < len(rows):
        last = first + 1
        while last < len(rows) and rows[last].free >= last - first:
            last += 1
        alone = [_alone(rows[row], plans[row], row, threads) for row in range(first, last)]
        if last == first + 1:
            groups += alone
            first = last
            continue
        whole = _group(rows, plans, first, last, threads)
        barriers = sum(plan.chunks > 1 for plan in plans[first:last])
        gain = sum(group.together for group in alone) + BARRIER * max(barriers - 1, 0) - whole.together
        groups += [whole] if gain >= BARRIER else alone
        first = last
    return groups


def _alone(row: Timing, plan: RowPlan, index: int, threads: int) -> _Group:
    return _Group(index, index + 1, row.cost, row.cost / min(threads, plan.chunks))


def _group(rows: Sequence[Timing], plans: Sequence[RowPlan], first: int, last: int, threads: int) -> _Group:
    serial = sum(row.cost for row in rows[first:last])
    longest = max(row.cost / plan.chunks for row, plan in zip(rows[first:last], plans[first:last]))
    return _Group(first, last, serial, max(serial / threads, longest))


def _regions(groups: Sequence[_Group], count: int) -> list[tuple[int, int, bool]]:
    """Joins parallel groups with little serial work between them; what saves less than a launch stays serial."""
    regions: list[tuple[int, int, bool]] = []
    done = 0
    for cluster in _clusters(groups):
        if sum(group.serial - group.together for group in cluster) < LAUNCH:
            continue
        first, last = cluster[0].first, cluster[-1].last
        if first > done:
            regions.append((done, first, False))
        regions.append((first, last, True))
        done = last
    if done < count:
        regions.append((done, count, False))
    return regions


def _clusters(groups: Sequence[_Group]) -> list[list[_Group]]:
    """Runs of groups that start and end with a parallel one and hold no serial stretch longer than GAP."""
    clusters: list[list[_Group]] = []
    between: list[_Group] = []
    for group in groups:
        if group.together >= group.serial:
            between.append(group)
            continue
        if clusters and sum(g.serial for g in between) <= GAP:
            clusters[-1] += [*between, group]
        else:
            clusters.append([group])
        between = []
    return clusters
