"""Timeouts of runs: what is refused, that a run stops, that the program goes on."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from runtime_programs import chain, program, ramp, run_python

import basalt
from basalt.errors import DeadlineExceeded, UnsupportedError, ValidationError
from basalt.runtime.deadlines import GRAIN, deadline_after, grains, now
from basalt.runtime.program import Program
from basalt.runtime.schedule import Timing
from basalt.runtime.spec import Row, Slot

SIZE = 50_000
LONG = 20_000
"""Rows that take about a tenth of a second at least."""


@pytest.fixture(scope="module", params=[1, 2, 4])
def long(request: pytest.FixtureRequest) -> Program:
    return chain(LONG, SIZE, 1e6, threads=request.param)


def test_a_run_stops_when_its_time_is_up(long: Program) -> None:
    feeds = {"x": ramp(SIZE)}
    for given in (False, True):
        y = np.zeros(SIZE, np.float32)
        with pytest.raises(DeadlineExceeded, match="timeout passed"):
            long.run(feeds, {"y": y} if given else None, timeout=0.01)
    assert len(long._idle) == 1, "the frame was not given back"
    assert long._idle[0].deadline == 0


def test_after_a_stop_the_program_computes_as_before(long: Program) -> None:
    feeds = {"x": ramp(SIZE)}
    for _ in range(3):
        with pytest.raises(DeadlineExceeded):
            long.run(feeds, timeout=0.002)
    np.testing.assert_array_equal(long.run(feeds)["y"], ramp(SIZE) + LONG)


def test_a_run_within_its_time_is_whole() -> None:
    short = chain(30, 5000, 1e6, threads=2)
    for timeout in (60, np.float32(100), 1e300, float("inf")):
        np.testing.assert_array_equal(short.run({"x": ramp(5000)}, timeout=timeout)["y"], ramp(5000) + 30)


def test_inputs_that_must_be_converted_count_from_the_call_too(long: Program) -> None:
    with pytest.raises(DeadlineExceeded):
        long.run({"x": list(range(SIZE))}, timeout=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_long_row_is_stopped_within(threads: int) -> None:
    """One row of many units: the clock is looked at between grains of it, not only at its end."""
    size = 1 << 20
    row = Row(2, (Slot.input(0), Slot.output(0)), 0, size, size * GRAIN / 16, min_chunk=16)
    counted = program(row, size=size, threads=threads)
    y = np.zeros(size, np.float32)
    with pytest.raises(DeadlineExceeded):
        counted.run({"x": np.ones(size, np.float32)}, {"y": y}, timeout=1e-3)
    done = int(y.sum())
    assert 0 <= done < size and done % 16 == 0, "units beside the places where a row may be cut"
    y[:] = 0
    counted.run({"x": np.ones(size, np.float32)}, {"y": y}, timeout=600)
    assert (y == 1).all(), "a grain was computed twice or never"


def test_a_timeout_that_is_no_time_is_refused() -> None:
    short = chain(1, 16, 1.0)
    for wrong in (0, -1, float("nan"), "1", b"1", True, [1, 2], object(), -float("inf"), 1j):
        with pytest.raises(ValidationError, match="expected a number of seconds above 0"):
            short.run({"x": ramp()}, timeout=wrong)  # type: ignore[arg-type]


def test_a_system_without_a_clock_is_told() -> None:
    short = chain(1, 16, 1.0)
    short._has_clock = False
    with pytest.raises(UnsupportedError, match="no clock"):
        short.run({"x": ramp()}, timeout=1)
    assert short.run({"x": ramp()})["y"][0] == 1


def test_the_error_is_a_timeout_and_of_basalt() -> None:
    assert issubclass(DeadlineExceeded, TimeoutError) and issubclass(DeadlineExceeded, basalt.BasaltError)
    assert basalt.DeadlineExceeded is DeadlineExceeded


def test_an_error_of_an_operator_is_told_also_with_a_timeout() -> None:
    row = Row(3, (Slot.input(0), Slot.output(0)), 0, 16, 1.0, label="root")
    checked = program(row)
    with pytest.raises(basalt.BasaltError, match="operator 'root'"):
        checked.run({"x": -ramp()}, timeout=60)
    assert checked.run({"x": ramp()}, timeout=60)["y"][3] == 3


def test_without_array_access_a_run_is_stopped_too() -> None:
    careful = chain(LONG, SIZE, 1e6, threads=2)
    careful._reads_arrays = False
    with pytest.raises(DeadlineExceeded):
        careful.run({"x": ramp(SIZE)}, timeout=0.005)
    np.testing.assert_array_equal(careful.run({"x": ramp(SIZE)})["y"], ramp(SIZE) + LONG)


def test_runs_with_and_without_a_timeout_at_once() -> None:
    long = chain(2000, SIZE, 1e6, threads=2)
    wrong: list[object] = []

    def work(timeout: float | None) -> None:
        for _ in range(4):
            try:
                y = long.run({"x": ramp(SIZE)}, timeout=timeout)["y"]
                if timeout is not None or not np.array_equal(y, ramp(SIZE) + 2000):
                    wrong.append(y)
            except DeadlineExceeded as error:
                if timeout is None:
                    wrong.append(error)

    workers = [threading.Thread(target=work, args=(timeout,)) for timeout in (None, 1e-5, None, 1e-5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_the_clock_of_both_sides_is_the_same() -> None:
    """A deadline that Python sees ahead, the executor must too, and the other way round."""
    short = chain(2, 16, 1.0)
    x, y = (ramp(),), (ramp(),)
    before = now()
    assert short._run_bound(x, y, False, before, None) != -1
    assert short._run_bound(x, y, False, now() + 3_600_000_000_000, None) == -1
    assert deadline_after(1.5) - before >= 1_500_000_000


def test_grains_keep_to_where_rows_may_be_cut() -> None:
    def row(units: int, cost: float, min_chunk: int = 1, serial: bool = False) -> Timing:
        return Timing(3, 3 + units, min_chunk, serial, 0, cost)

    rows = [row(0, 0.0), row(100, GRAIN), row(100, 4 * GRAIN), row(100, 4 * GRAIN, 8), row(100, 1e12, 8)]
    assert grains([*rows, row(100, 1e12, serial=True)]).tolist() == [1, 100, 25, 24, 8, 100]


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_an_interrupted_run_gives_its_frame_back() -> None:
    script = """
import contextlib, signal, threading, time
from runtime_programs import chain, ramp
from basalt.errors import DeadlineExceeded
long = chain(20_000, 50_000, 1e6, threads=2)
feeds = {"x": ramp(50_000)}
main, running = threading.get_ident(), False

def interrupt():
    while not running:
        time.sleep(0.001)
    time.sleep(0.005)
    signal.pthread_kill(main, signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
interrupted = 0
for _ in range(5):
    threading.Thread(target=interrupt).start()
    try:
        running = True
        with contextlib.suppress(DeadlineExceeded):
            long.run(feeds, timeout=0.2)
        time.sleep(60)
    except KeyboardInterrupt:
        interrupted += 1
    running = False
assert (long.run(feeds)["y"] == ramp(50_000) + 20_000).all()
print(interrupted, long._pool.held, len(long._idle))
"""
    assert run_python(script).split() == ["5", "1", "1"]
