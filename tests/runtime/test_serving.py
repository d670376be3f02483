"""Programs under a server: threads for one run, a bound on memory, many callers at once."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pytest
from runtime_programs import chain, ramp, run_python

from basalt.errors import DeadlineExceeded, ValidationError
from basalt.runtime import frame_pool
from basalt.runtime.program import Program
from basalt.runtime.threads import THREADS, get_num_threads

FEEDS = {"x": ramp(5000)}


def at_once(count: int, work: Any) -> None:
    """Calls ``work(index)`` in ``count`` threads; raises what the first of them raised."""
    errors: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


@pytest.fixture
def long() -> Program:
    return chain(30, 5000, 1e6, threads=2)


def teams(made: Program) -> list[int]:
    return [frame.team for frame in made._idle]


def test_threads_for_one_run(long: Program) -> None:
    layer = THREADS.team(2, long.code.executor) > 1
    before, epoch = get_num_threads(), THREADS.epoch
    for budget, team in ((1, 1), (3, 3), (None, 2), (np.int64(1), 1), (2, 2), (None, 2)):
        np.testing.assert_array_equal(long.run(FEEDS, threads=budget)["y"], ramp(5000) + 30)
        assert teams(long) == [team if layer else 1]
    assert (get_num_threads(), THREADS.epoch, long.threads) == (before, epoch, 2)


def test_a_program_that_follows_the_process_follows_it_after_a_budget() -> None:
    script = """
from runtime_programs import chain, ramp
from basalt.runtime.threads import set_num_threads
free = chain(3, 5000, 1e6)
found = []
for count, budget in ((1, None), (1, 2), (3, 2), (3, None), (1, None), (1, 3)):
    set_num_threads(count)
    assert (free.run({"x": ramp(5000)}, threads=budget)["y"] == ramp(5000) + 3).all()
    found.append(free._idle[0].team)
print(found)
"""
    assert run_python(script).strip() == "[1, 2, 2, 3, 1, 3]"


def test_a_number_of_threads_that_is_none_is_refused(long: Program) -> None:
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(ValidationError, match="expected a whole number of at least 1"):
            long.run(FEEDS, threads=wrong)  # type: ignore[arg-type]


def test_runs_with_different_budgets_at_once(long: Program) -> None:
    def work(index: int) -> None:
        for turn in range(60):
            budget = (None, 1, 2, 3)[(index + turn) % 4]
            np.testing.assert_array_equal(
                long.run({"x": ramp(5000) + index}, threads=budget)["y"], ramp(5000) + index + 30
            )

    at_once(4, work)


class Slow:
    """Stands in for frames: makes each run last until it is let go, and counts those under way."""

    def __init__(self, made: Program) -> None:
        self.made, self.running, self.most = made, 0, 0
        self.go = threading.Event()
        self.lock = threading.Lock()

    def run(self) -> None:
        frame = self.made._pool.take(0)
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.go.wait()
        with self.lock:
            self.running -= 1
        self.made._give_back(frame)


def wait_for(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_arenas_than_the_bound(long: Program, most: int) -> None:
    arena = long.memory()["arena"]
    long.limit_memory(most * arena + arena - 1)
    slow = Slow(long)
    workers = [threading.Thread(target=slow.run) for _ in range(6)]
    for worker in workers:
        worker.start()
    wait_for(lambda: slow.running == most and len(long._pool.waiting) == 6 - most)
    assert long.memory()["arenas"] == most * arena
    slow.go.set()
    for worker in workers:
        worker.join()
    assert slow.most == most
    assert long.memory()["arenas"] == long.memory()["idle"] <= most * arena
    np.testing.assert_array_equal(long.run(FEEDS)["y"], ramp(5000) + 30)


def test_those_who_wait_are_served_in_their_order_and_before_who_comes_later(long: Program) -> None:
    long.limit_memory(long.memory()["arena"])
    order: list[int] = []
    frame = long._pool.take(0)

    def work(index: int) -> None:
        mine = long._pool.take(0)
        order.append(index)
        long._give_back(mine)

    workers = []
    for index in range(5):
        workers.append(threading.Thread(target=work, args=(index,)))
        workers[-1].start()
        wait_for(lambda count=index + 1: len(long._pool.waiting) == count)
    long._give_back(frame)
    long.run(FEEDS)
    for worker in workers:
        worker.join()
    assert order == [0, 1, 2, 3, 4]


def test_the_wait_for_memory_counts_in_the_timeout(long: Program) -> None:
    long.limit_memory(long.memory()["arena"])
    with long.frame():
        with pytest.raises(DeadlineExceeded, match="no memory became free"):
            long.run(FEEDS, timeout=0.02)
        assert not long._pool.waiting
    np.testing.assert_array_equal(long.run(FEEDS, timeout=60)["y"], ramp(5000) + 30)


def test_a_bound_that_is_lifted_lets_the_waiting_go_on(long: Program) -> None:
    long.limit_memory(long.memory()["arena"])
    with long.frame():
        worker = threading.Thread(target=long.run, args=(FEEDS,))
        worker.start()
        wait_for(lambda: long._pool.waiting)
        long.limit_memory(None)
        worker.join()
    assert long._pool.held == len(long._idle)


def test_a_bound_frees_what_is_beyond_it(long: Program) -> None:
    arena = long.memory()["arena"]
    long._pool.most_idle = long._pool._usual_idle = 8
    with long.frame(), long.frame(), long.frame():
        pass
    assert long.memory()["idle"] == 3 * arena
    long.limit_memory(2 * arena)
    assert long.memory()["arenas"] == long.memory()["idle"] == 2 * arena


def test_a_frame_that_is_lost_is_replaced(long: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt may fall between taking a frame and noting it: the next run must not wait for ever."""
    monkeypatch.setattr(frame_pool, "_PATIENCE", 0.01)
    long.limit_memory(long.memory()["arena"])
    frame = long._pool.take(0)
    worker = threading.Thread(target=long.run, args=(FEEDS,))
    worker.start()
    wait_for(lambda: long._pool.waiting)
    del frame
    worker.join(60)
    assert not worker.is_alive()


def test_who_gives_up_passes_the_frame_on(long: Program) -> None:
    long.limit_memory(long.memory()["arena"])
    pool = long._pool
    frame = pool.take(0)
    given_up = frame_pool._Ticket()
    pool.waiting.append(given_up)
    long._give_back(frame)
    assert given_up.frame is frame and not pool.idle
    pool._withdraw(given_up)
    assert pool.idle == [frame]


def test_a_bound_below_one_arena_is_refused(long: Program) -> None:
    arena = long.memory()["arena"]
    for wrong in (arena - 1, 0, -1, 1.5 * arena, "many", True):
        with pytest.raises(ValidationError, match=f"expected at least the {arena} of one arena"):
            long.limit_memory(wrong)  # type: ignore[arg-type]


def test_a_program_without_an_arena_has_no_bound() -> None:
    single = chain(1, 16, 1.0)
    bare = Program(
        type(single.spec)(single.spec.inputs, single.spec.outputs, single.spec.rows, single.spec.kernels, (), 0),
        single.code,
    )
    bare.limit_memory(0)
    with bare.frame(), bare.frame():
        assert bare.run({"x": ramp()})["y"][0] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_child_does_not_wait_for_runs_of_its_parent() -> None:
    script = """
import os, signal, sys, threading, time
from runtime_programs import chain, ramp
long = chain(30, 5000, 1e6, threads=1)
long.limit_memory(long.memory()["arena"])
taken, go = threading.Event(), threading.Event()
def keep():
    with long.frame():
        taken.set()
        go.wait()
threading.Thread(target=keep).start()
taken.wait()
waiting = threading.Thread(target=long.run, args=({"x": ramp(5000)},))
waiting.start()
while not long._pool.waiting:
    time.sleep(0.001)
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    assert (long.run({"x": ramp(5000)})["y"] == ramp(5000) + 30).all()
    assert long.memory()["arenas"] == long.memory()["idle"] == long.memory()["arena"]
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
go.set()
waiting.join()
print("fine")
"""
    assert run_python(script, PYTHONWARNINGS="ignore").strip() == "fine"


MANY = """
import random, threading
import numpy as np
from runtime_programs import chain, ramp
from basalt.errors import DeadlineExceeded

RUNS = {runs}
made = chain(6, 600, 1e5, threads=2)
made.limit_memory(5 * made.memory()["arena"])
wrong, resident, stopped = [], [], [0] * 8

def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def work(index):
    rng = random.Random(index)
    x = ramp(600) + index
    expected = x + 6
    y = np.empty(600, np.float32)
    for turn in range(RUNS):
        if index == 0 and turn in (RUNS // 4, RUNS - 1):
            resident.append(rss())
        out = {{"y": y}} if rng.random() < 0.5 else None
        timeout = rng.choice((None, None, 60, 1e-4, 1e-5))
        try:
            found = made.run({{"x": x}}, out, timeout=timeout, threads=rng.choice((None, 1, 2, 3)))["y"]
        except DeadlineExceeded:
            stopped[index] += 1
            if timeout in (None, 60):
                wrong.append("stopped without need")
            continue
        if not (found == expected).all() or (out is not None and found is not y):
            wrong.append(turn)

workers = [threading.Thread(target=work, args=(index,)) for index in range(8)]
for worker in workers: worker.start()
for worker in workers: worker.join()
assert not wrong, wrong[:10]
assert made._pool.held <= 5 and made._pool.held == len(made._idle), (made._pool.held, len(made._idle))
assert not made._pool.waiting and made._pool._coming == 0
print(sum(stopped), resident[1] - resident[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_ten_thousand_runs_in_each_of_eight_threads() -> None:
    stopped, growth = map(int, run_python(MANY.format(runs=10_000), timeout=900).split())
    assert stopped > 0
    assert growth < 4 << 20
