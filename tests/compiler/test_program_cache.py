"""Programs by signature: compiled once, whoever asks; in the background where that takes long; the oldest dropped."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from basalt.compiler.program_cache import PATIENCE, Pending, ProgramCache

KEY = ((2, 3),)
WAIT = 20


class FakePlan:
    """A plan whose compilation ends when the test says so; its program is the signature."""

    def __init__(self, key: Any, seconds: float, work: Callable[[Any], None]) -> None:
        self.key, self.seconds, self.work = key, seconds, work

    def finish(self, progress: Any) -> Any:
        self.work(progress)
        return f"program {self.key}"


class Workshop:
    """Makes a cache with plans of one kind and counts what is compiled."""

    def __init__(self, seconds: float = 0.0, eager: bool = True, limit: int = 64) -> None:
        self.seconds = seconds
        self.begun: list[Any] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.failure: BaseException | None = None
        self.cache = ProgramCache(self.plan, eager, limit)  # type: ignore[arg-type]

    def plan(self, key: Any) -> tuple[FakePlan, Callable[[], str]]:
        return FakePlan(key, self.seconds, lambda progress: self.work(key, progress)), lambda: "interpreted"

    def work(self, key: Any, progress: Any) -> None:
        self.begun.append(key)
        self.entered.set()
        assert self.gate.wait(WAIT)
        progress(1, 2, 0.1)
        if self.failure is not None:
            raise self.failure


def in_threads(count: int, work: Callable[[], Any]) -> list[Any]:
    """What ``work`` returned or raised in each of several threads."""
    results: list[Any] = []

    def guarded() -> None:
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    return results


def test_a_program_is_compiled_once() -> None:
    shop = Workshop()
    assert shop.cache.acquire(KEY) == f"program {KEY}"
    assert shop.cache.acquire(KEY) == f"program {KEY}"
    assert shop.begun == [KEY]
    assert shop.cache.ready[KEY].program == f"program {KEY}"


def test_many_threads_wait_for_one_compilation() -> None:
    shop = Workshop()
    shop.gate.clear()
    timer = threading.Timer(0.2, shop.gate.set)
    timer.start()
    assert in_threads(8, lambda: shop.cache.acquire(KEY)) == [f"program {KEY}"] * 8
    assert shop.begun == [KEY]


def test_signatures_are_compiled_apart() -> None:
    shop = Workshop()
    assert shop.cache.acquire(((1,),)) != shop.cache.acquire(((2,),))
    assert shop.begun == [((1,),), ((2,),)]


def test_those_used_last_stay() -> None:
    shop = Workshop(limit=3)
    keys = [((i,),) for i in range(4)]
    for key in keys[:3]:
        shop.cache.acquire(key)
    shop.cache.acquire(keys[0])
    shop.cache.acquire(keys[3])
    assert set(shop.cache.ready) == {keys[0], keys[2], keys[3]}
    shop.cache.acquire(keys[1])
    assert shop.begun == [*keys, keys[1]]


def test_a_failure_is_raised_and_forgotten() -> None:
    shop = Workshop()
    shop.failure = ValueError("no such kernel")
    for _ in range(2):
        with pytest.raises(ValueError, match="no such kernel"):
            shop.cache.acquire(KEY)
    shop.failure = None
    assert shop.cache.acquire(KEY) == f"program {KEY}"
    assert len(shop.begun) == 3


def test_a_failure_reaches_all_who_wait() -> None:
    shop = Workshop()
    shop.failure = ValueError("no such kernel")
    shop.gate.clear()
    threading.Timer(0.2, shop.gate.set).start()
    results = in_threads(6, lambda: shop.cache.acquire(KEY))
    assert len(results) == 6 and all(isinstance(r, ValueError) for r in results)


def test_an_interrupt_ends_only_its_own_thread() -> None:
    shop = Workshop()
    shop.failure = KeyboardInterrupt()
    shop.gate.clear()

    def waiting() -> Any:
        assert shop.entered.wait(WAIT)
        threading.Timer(0.1, release).start()
        return shop.cache.acquire(KEY)

    def release() -> None:
        shop.gate.set()

    def owner() -> Any:
        try:
            return shop.cache.acquire(KEY)
        finally:
            shop.failure = None

    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.extend(in_threads(3, waiting)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        owner()
    thread.join(WAIT)
    assert results == [f"program {KEY}"] * 3
    assert len(shop.begun) == 2


def test_long_compilations_go_to_the_background() -> None:
    shop = Workshop(seconds=PATIENCE * 2)
    shop.gate.clear()
    pending = shop.cache.acquire(KEY)
    assert isinstance(pending, Pending) and pending.interpreted == "interpreted" and not pending.ready
    assert shop.cache.acquire(KEY) is pending
    assert in_threads(4, lambda: shop.cache.acquire(KEY)) == [pending] * 4
    shop.gate.set()
    assert pending.done.wait(WAIT) and pending.ready
    assert shop.cache.acquire(KEY) == f"program {KEY}"
    assert shop.begun == [KEY]


def test_one_may_wait_for_the_background() -> None:
    shop = Workshop(seconds=PATIENCE * 2)
    shop.gate.clear()
    assert isinstance(shop.cache.acquire(KEY), Pending)
    threading.Timer(0.2, shop.gate.set).start()
    assert in_threads(3, lambda: shop.cache.acquire(KEY, wait=True)) == [f"program {KEY}"] * 3
    assert shop.begun == [KEY]


@pytest.mark.parametrize("options", [{"seconds": PATIENCE * 2, "eager": False}, {"seconds": PATIENCE / 2}])
def test_other_compilations_are_waited_for(options: Any) -> None:
    shop = Workshop(**options)
    assert shop.cache.acquire(KEY) == f"program {KEY}"


def test_waiting_begins_no_background_compilation() -> None:
    shop = Workshop(seconds=PATIENCE * 2)
    assert shop.cache.acquire(KEY, wait=True) == f"program {KEY}"


def test_a_failure_in_the_background_is_raised_once_by_the_next_call() -> None:
    shop = Workshop(seconds=PATIENCE * 2)
    shop.failure = ValueError("no such kernel")
    shop.gate.clear()
    pending = shop.cache.acquire(KEY)
    assert isinstance(pending, Pending)
    shop.gate.set()
    assert pending.done.wait(WAIT) and not pending.ready
    with pytest.raises(ValueError, match="no such kernel") as caught:
        shop.cache.acquire(KEY)
    assert caught.value.__notes__ == ["raised while the graph was compiled in the background"]
    shop.failure = None
    assert shop.cache.acquire(KEY, wait=True) == f"program {KEY}"


def test_clearing_gives_up_what_is_being_compiled() -> None:
    shop = Workshop(seconds=PATIENCE * 2)
    shop.cache.acquire(((1,),), wait=True)
    shop.gate.clear()
    pending = shop.cache.acquire(KEY)
    assert isinstance(pending, Pending)
    shop.cache.clear()
    shop.gate.set()
    assert pending.done.wait(WAIT)
    assert not pending.ready and shop.cache.ready == {}


def test_background_compilations_follow_each_other() -> None:
    shop = Workshop(seconds=PATIENCE * 2)
    shop.gate.clear()
    keys = [((i,),) for i in range(3)]
    pending = [shop.cache.acquire(key) for key in keys]
    assert shop.entered.wait(WAIT) and shop.begun == keys[:1]
    shop.gate.set()
    for each in pending:
        assert isinstance(each, Pending) and each.done.wait(WAIT)
    assert shop.begun == keys and set(shop.cache.ready) == set(keys)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    shop = Workshop(seconds=PATIENCE * 2)
    shop.gate.clear()
    pending = shop.cache.acquire(KEY)
    assert isinstance(pending, Pending) and shop.entered.wait(WAIT)
    child = os.fork()
    if child == 0:
        signal.alarm(WAIT)
        shop.gate.set()
        os._exit(0 if shop.cache.acquire(KEY, wait=True) == f"program {KEY}" else 1)
    shop.gate.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pending.done.wait(WAIT)
