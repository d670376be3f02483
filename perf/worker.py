"""A contender's process: ``python -m perf.worker CONTENDER THREADS``; told what to do by lines of JSON.

Each line on the standard input is a command, each is answered by one line. Nothing is timed but in a ``turn``, which
the parent gives to one worker at a time. A contender that fails answers with what went wrong; only a worker that
cannot go on ends.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .peers import CannotRun, Prepared, Task, load_peer, process
from .peers.files import kind_of
from .suites import Case, load_suite

__all__ = ["Worker", "main"]


class Worker:
    """What the commands act on: the contender's module and the case that is ready."""

    def __init__(self, contender: str, threads: int) -> None:
        self._contender = contender
        self._threads = threads
        self._ready: Prepared | None = None

    def handle(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a command: ``{"ok": true, ...}``, or false with ``error`` and whether it ``cannot`` do it."""
        try:
            command = getattr(self, f"_do_{message['do']}")
            return {"ok": True} | (command(message) or {})
        except (CannotRun, ImportError) as error:
            return {"ok": False, "cannot": True, "error": str(error)}
        except Exception as error:
            traceback.print_exc()
            return {"ok": False, "cannot": False, "error": f"{type(error).__name__}: {error}"}

    def _do_hello(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"versions": load_peer(self._contender).versions(), "pid": os.getpid()}

    def _do_build(self, message: dict[str, Any]) -> None:
        case = Case.from_json(message["case"])
        load_suite(case.suite).build(case, Path(message["folder"]))

    def _do_peaks(self, message: dict[str, Any]) -> dict[str, Any]:
        from basalt.compiler.peaks import measure_peaks

        found = measure_peaks(self._threads)
        return {"peaks": {"operations": dict(found.operations), "bandwidth": [list(pair) for pair in found.bandwidth]}}

    def _do_prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        self._ready = None
        gc.collect()
        task = Task(self._contender, Case.from_json(message["case"]), Path(message["folder"]), self._threads)
        start = time.perf_counter()
        ready = process.prepare(task) if kind_of(task) == "process" else load_peer(self._contender).prepare(task)
        outputs = ready.outputs()
        seconds = time.perf_counter() - start
        np.savez(message["outputs"], **outputs)
        self._ready = ready
        return {"seconds": seconds, "note": ready.note}

    def _do_turn(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._ready is None:
            raise RuntimeError("no case is ready: 'prepare' comes before 'turn'")
        return timed(self._ready.call, message["batches"], message["count"], message["warm"])

    def _do_drop(self, message: dict[str, Any]) -> None:
        self._ready = None
        gc.collect()


def timed(call: Any, batches: int, count: int, warm: int) -> dict[str, Any]:
    """Seconds of a call: the median of ``batches`` of ``count`` calls each, after ``warm`` calls that do not count.

    ``cpu`` is the process's CPU seconds a call, of all threads: where it is less than seconds at one thread, the
    process was not given a core all the time.
    """
    clock, cpu_clock = time.perf_counter, _cpu_seconds
    for _ in range(warm):
        call()
    repeats, times = range(count), []
    gc.disable()
    cpu = cpu_clock()
    for _ in range(batches):
        start = clock()
        for _ in repeats:
            call()
        times.append((clock() - start) / count)
    cpu = (cpu_clock() - cpu) / (batches * count)
    gc.enable()
    return {"seconds": sorted(times)[(len(times) - 1) // 2], "cpu": cpu}


def _cpu_seconds() -> float:
    """What this process and those that it started and that have ended computed."""
    found = os.times()
    return time.process_time() + found.children_user + found.children_system


def serve(worker: Worker, commands: TextIO, answers: TextIO) -> None:
    """Answer commands until there are no more."""
    for line in commands:
        answers.write(json.dumps(worker.handle(json.loads(line))) + "\n")
        answers.flush()


def main() -> int:
    """Serve the contender and thread count that the command line names."""
    # Libraries may print; the answers' stream must hold nothing else.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        serve(Worker(sys.argv[1], int(sys.argv[2])), sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
