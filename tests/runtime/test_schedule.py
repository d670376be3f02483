"""Schedules: every unit in exactly one chunk, every row in exactly one region, no launch that does not pay."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from basalt.runtime.schedule import CHUNK, GAP, LAUNCH, schedule
from basalt.runtime.spec import Row


def row(units: int, cost: float, **options: object) -> Row:
    return Row(0, (), 0, units, cost, **options)  # type: ignore[arg-type]


rows = st.builds(
    Row,
    kernel=st.just(0),
    slots=st.just(()),
    start=st.integers(-50, 50),
    stop=st.integers(50, 100_000),
    cost=st.floats(0, 1e7),
    min_chunk=st.integers(1, 5000),
    serial=st.booleans(),
    free=st.integers(0, 3),
)


@given(st.lists(rows, max_size=12), st.integers(1, 70))
def test_chunks_cover_the_units_and_regions_the_rows(program: list[Row], threads: int) -> None:
    plan = schedule(program, threads)
    for item, (step, chunks) in zip(program, plan.rows, strict=True):
        starts = [item.start + index * step for index in range(chunks)]
        assert starts[0] == item.start and starts[-1] < max(item.stop, item.start + 1)
        assert starts[-1] + step >= item.stop
        if chunks > 1:
            assert not item.serial and threads > 1 and step % item.min_chunk == 0
    position = 0
    for first, last, parallel in plan.regions:
        assert first == position and last > first
        position = last
        ends = {index for index in range(first, last) if plan.groups[index] <= last}
        assert ends == set(range(first, last)), "a group is within one region"
        shared = [i for i in range(first, last) if plan.rows[i].chunks > 1 or plan.groups[i] > i + 1]
        assert not parallel or (shared[0] == first and max(plan.groups[i] for i in shared) == last)
    assert position == len(program)
    for index, end in enumerate(plan.groups):
        assert all(item.free >= place - index for place, item in enumerate(program[index + 1 : end], index + 1))
        assert end == index + 1 or threads > 1


def test_one_thread_never_splits() -> None:
    assert not schedule([row(1000, 1e9)] * 3, 1).is_parallel


def test_cheap_rows_and_serial_rows_stay_whole() -> None:
    assert schedule([row(1000, CHUNK)], 8).rows[0].chunks == 1
    assert schedule([row(1000, 1e9, serial=True)], 8).rows[0].chunks == 1
    assert schedule([row(1000, 1e9, min_chunk=1000)], 8).rows[0].chunks == 1


def test_middling_rows_get_a_chunk_a_thread_and_long_rows_several() -> None:
    assert schedule([row(1000, 100_000)], 4).rows[0].chunks == 4
    assert schedule([row(1000, 1e7)], 4).rows[0].chunks == 16
    assert schedule([row(3, 1e7)], 4).rows[0].chunks == 3
    assert schedule([row(1000, 3 * CHUNK)], 8).rows[0].chunks == 3


def test_what_saves_less_than_a_launch_runs_serially() -> None:
    little = schedule([row(1000, 2 * CHUNK)], 2)
    assert little.rows[0].chunks == 2 and not little.is_parallel
    enough = int(LAUNCH / CHUNK) + 1
    assert schedule([row(1000, 2 * CHUNK)] * enough, 2).regions == ((0, enough, True),)


def test_short_serial_rows_join_regions_and_long_ones_part_them() -> None:
    big, small, long = row(1000, 1e6), row(1, GAP / 2), row(1, 2 * GAP)
    assert schedule([small, big, small, big, small], 2).regions == ((0, 1, False), (1, 4, True), (4, 5, False))
    assert schedule([big, long, big], 2).regions == ((0, 1, True), (1, 2, False), (2, 3, True))
    assert schedule([big, small, small, small, big], 2).regions == ((0, 1, True), (1, 4, False), (4, 5, True))


def test_rows_that_need_not_wait_for_each_other_are_opened_together() -> None:
    first, second = row(1, 1e6, serial=True), row(1, 1e6, serial=True, free=1)
    assert schedule([first, second], 2).regions == ((0, 2, True),)
    assert schedule([first, second], 2).groups == (2, 2)
    assert not schedule([first, second], 1).is_parallel
    assert not schedule([first, replace(second, free=0)], 2).is_parallel
    three = [row(1000, 1e5), row(1000, 1e5, free=1), row(1000, 1e5, free=1)]
    assert schedule(three, 2).groups == (2, 2, 3), "the third waits for the first"
    assert schedule([first, row(1, 100.0, free=1)], 2).groups == (1, 2), "nothing to gain"
