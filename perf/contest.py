"""One case among contenders: made ready, checked, and only then timed, in turns, in another random order each round."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import machine
from .checking import wrong_outputs
from .suites import Case
from .turns import Contender, Refused, WorkerLost, WorkerProcess

__all__ = ["Entry", "Pool", "Settings", "contest"]


@dataclass(frozen=True)
class Settings:
    """How long is measured, and how.

    Attributes:
        rounds: turns of each contender in a launch; fewer, but at least ``fewest``, where they would take longer than
            ``budget`` seconds.
        turn: about how many seconds a turn lasts; a call that is longer is made once.
        limit: seconds of a call over which only a part of the case is measured, where a case has parts.
        gap: seconds between turns, for threads of the last one that still spin (ONNX Runtime's: tens of milliseconds).
        timeout: seconds after which a worker that does not answer is given up.
        launches: how often all processes are started anew.
        clock: ``wall``, or ``cpu``: seconds that the process's threads computed, whatever neighbours took meanwhile.
    """

    rounds: int = 25
    fewest: int = 5
    turn: float = 0.03
    budget: float = 60.0
    limit: float = 4.0
    gap: float = 0.06
    timeout: float = 900.0
    launches: int = 1
    seed: int = 0
    clock: str = "wall"


@dataclass
class Entry:
    """What came of one contender in one case.

    ``state`` is measured, cannot (the contender does not do it), wrong (outputs are not those expected: not timed), or
    failed. ``part`` is the share of the case that was measured; ``samples`` are seconds of the whole case, by launch.
    """

    state: str = "measured"
    why: str = ""
    note: str = ""
    error: float | None = None
    part: float = 1.0
    calls: int = 0
    cpu: float = 0.0
    samples: list[list[float]] = field(default_factory=list)


@dataclass
class _Plan:
    """How a turn of a contender goes."""

    entry: Entry
    batches: int = 1
    count: int = 1
    warm: int = 0
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)


class Pool:
    """Workers by contender, started when first needed, and again after one was lost."""

    def __init__(self, settings: Settings, start: Callable[[Contender], WorkerProcess] = WorkerProcess) -> None:
        self._settings = settings
        self._start = start
        self._workers: dict[Contender, WorkerProcess] = {}
        self.versions: dict[str, str] = {}

    def ask(self, contender: Contender, message: dict[str, Any]) -> dict[str, Any]:
        """The contender's answer. Raises Refused and WorkerLost as a worker does."""
        worker = self._workers.get(contender)
        if worker is None or not worker.alive:
            if worker is not None:
                worker.close()
            worker = self._workers[contender] = self._start(contender)
            self.versions |= worker.ask({"do": "hello"}, self._settings.timeout)["versions"]
        return worker.ask(message, self._settings.timeout)

    def cpu_ticks(self) -> int:
        """CPU time that this process and the workers that are alive have used so far, in clock ticks."""
        own = machine.process_ticks(os.getpid())
        return own + sum(machine.process_ticks(worker.pid) for worker in self._workers.values())

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()


def contest(
    case: Case,
    folder: Path,
    contenders: Sequence[Contender],
    pool: Pool,
    settings: Settings,
    tick: Callable[[str], None] = lambda what: None,
) -> dict[str, Entry]:
    """Measure a case once, in the processes of the pool: one launch.

    Args:
        folder: the problem's files, ``expected.npz`` among them.
        tick: told what is being done, for a progress bar.
    """
    plans: dict[Contender, _Plan] = {}
    for contender in contenders:
        tick(f"{contender.key}: making ready")
        try:
            plans[contender] = _ready(case, folder, contender, pool, settings)
        except Refused as error:
            plans[contender] = _Plan(Entry("cannot" if error.cannot else "failed", str(error)))
        except WorkerLost as error:
            plans[contender] = _Plan(Entry("failed", str(error)))
    _take_turns({c: p for c, p in plans.items() if p.entry.state == "measured"}, pool, settings, tick)
    _release(plans, pool)
    return {contender.key: plan.entry for contender, plan in plans.items()}


def _ready(case: Case, folder: Path, contender: Contender, pool: Pool, settings: Settings) -> _Plan:
    """A contender that has the case ready and whose outputs are right, and how long its turns are to be."""
    entry = Entry()
    if case.probe is not None:
        smaller = replace(case, params=case.params | case.probe)
        _prepare(smaller, folder, contender, pool)
        seconds = _turn(pool, contender)["seconds"] * case.params["rows"] / case.probe["rows"]
        if seconds > settings.limit:
            rows = max(case.probe["rows"], _round_down(case.params["rows"] * settings.limit / seconds))
            entry.part = rows / case.params["rows"]
            case = replace(case, params=case.params | {"rows": rows})
    answer, results = _prepare(case, folder, contender, pool)
    entry.note = answer["note"]
    error, wrong = wrong_outputs(case, folder, results)
    # JSON has no infinity, which is what places that are not finite give if they disagree.
    entry.error = error if math.isfinite(error) else None
    if wrong:
        entry.state, entry.why = "wrong", "; ".join(wrong)
        return _Plan(entry)
    return _calibrated(entry, pool, contender, settings)


def _prepare(
    case: Case, folder: Path, contender: Contender, pool: Pool
) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
    path = folder / "given.npz"
    message = {"do": "prepare", "case": case.to_json(), "folder": str(folder), "outputs": str(path)}
    answer = pool.ask(contender, message)
    with np.load(path, allow_pickle=False) as data:
        return answer, dict(data)


def _turn(pool: Pool, contender: Contender, batches: int = 1, count: int = 1, warm: int = 0) -> dict[str, Any]:
    return pool.ask(contender, {"do": "turn", "batches": batches, "count": count, "warm": warm})


def _calibrated(entry: Entry, pool: Pool, contender: Contender, settings: Settings) -> _Plan:
    """Turns of about the length that is wanted: several batches of calls where a call is short."""
    seconds = _turn(pool, contender, warm=1)["seconds"] if entry.part == 1 else _turn(pool, contender)["seconds"]
    if seconds < settings.turn / 4:
        count = max(1, int(settings.turn / 20 / max(seconds, 1e-8)))
        seconds = _turn(pool, contender, 3, count)["seconds"]
    batches = max(1, min(5, int(settings.turn / max(seconds, 1e-9))))
    count = max(1, int(settings.turn / batches / max(seconds, 1e-9)))
    warm = 0 if seconds > settings.turn * 5 else max(1, count // 5)
    entry.calls = batches * count
    return _Plan(entry, batches, count, warm, seconds * (batches * count + warm))


def _take_turns(plans: Mapping[Contender, _Plan], pool: Pool, settings: Settings, tick: Callable[[str], None]) -> None:
    order = list(plans)
    shuffle = random.Random(settings.seed).shuffle
    longest = sum(plan.seconds + settings.gap for plan in plans.values())
    rounds = max(min(settings.fewest, settings.rounds), min(settings.rounds, int(settings.budget / max(longest, 1e-9))))
    for index in range(rounds):
        shuffle(order)
        tick(f"round {index + 1} of {rounds}")
        for contender in order:
            plan = plans[contender]
            if plan.entry.state != "measured":
                continue
            time.sleep(settings.gap)
            try:
                answer = _turn(pool, contender, plan.batches, plan.count, plan.warm)
            except (Refused, WorkerLost) as error:
                plan.entry.state, plan.entry.why = "failed", str(error)
                continue
            plan.times.append(answer["seconds" if settings.clock == "wall" else "cpu"] / plan.entry.part)
            plan.cpus.append(answer["cpu"] / plan.entry.part)
    for plan in plans.values():
        if plan.entry.state == "measured":
            plan.entry.samples.append(plan.times)
            plan.entry.cpu = float(np.median(plan.cpus))


def _release(plans: Mapping[Contender, _Plan], pool: Pool) -> None:
    """Let go of the case's memory; a worker that is lost here is started again for the next case."""
    for contender, plan in plans.items():
        if plan.entry.state != "failed":
            try:
                pool.ask(contender, {"do": "drop"})
            except (Refused, WorkerLost):
                continue


def _round_down(value: float) -> int:
    """The number with one significant digit that is not greater."""
    step = 10 ** math.floor(math.log10(value))
    return int(value // step * step)
