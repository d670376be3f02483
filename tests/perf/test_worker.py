"""What a worker measures, and how it answers."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from perf.worker import Worker, serve, timed

SPIN = "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass"


def test_calls_are_counted() -> None:
    calls: list[int] = []
    found = timed(lambda: calls.append(1), batches=3, count=4, warm=2)
    assert len(calls) == 2 + 3 * 4
    assert found["seconds"] > 0 and found["cpu"] >= 0


def test_the_cpu_time_of_processes_that_a_call_starts_counts() -> None:
    found = timed(lambda: subprocess.run([sys.executable, "-S", "-c", SPIN], check=True), batches=1, count=1, warm=0)
    assert found["cpu"] >= 0.09


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"do": "turn", "batches": 1, "count": 1, "warm": 0}, "'prepare' comes before 'turn'"),
        ({"do": "jump"}, "_do_jump"),
        ({}, "KeyError"),
    ],
)
def test_what_goes_wrong_is_an_answer(message: dict[str, object], words: str) -> None:
    answers = io.StringIO()
    serve(Worker("numpy", 1), io.StringIO(json.dumps(message) + "\n"), answers)
    answer = json.loads(answers.getvalue())
    assert answer["ok"] is False and answer["cannot"] is False
    assert words in answer["error"]


def test_a_contender_says_its_versions() -> None:
    answer = Worker("numpy", 1).handle({"do": "hello"})
    assert answer["ok"] and "numpy" in answer["versions"]
