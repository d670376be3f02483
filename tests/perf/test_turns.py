"""Workers and turns: what is measured, checked and scaled; workers that die, crash, hang or fail."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perf.checking import ROWS
from perf.contest import Entry, Pool, Settings, contest
from perf.suites import Case
from perf.turns import Contender, Refused, WorkerLost, WorkerProcess

FAKE = Path(__file__).with_name("fake_worker.py")
SETTINGS = Settings(rounds=6, gap=0.0, timeout=20.0)
CASE = Case("kernels", "fake", "fake", {"rows": 1})


def start(contender: Contender) -> WorkerProcess:
    """A fake worker; contenders are named ``behaviour`` or ``behaviour:seconds``."""
    behaviour, _, seconds = contender.name.partition(":")
    return WorkerProcess(contender, [sys.executable, str(FAKE), behaviour, seconds or "0.001"])


def run(names: list[str], folder: Path, case: Case = CASE, settings: Settings = SETTINGS) -> dict[str, Entry]:
    rows = np.arange(case.params["rows"])
    np.savez(folder / "expected.npz", **{"y": rows.astype(np.float32), ROWS: rows})
    pool = Pool(settings, start)
    try:
        return contest(case, folder, [Contender(name, 1, folder) for name in names], pool, settings)
    finally:
        pool.close()


def test_all_take_a_turn_in_each_round(tmp_path: Path) -> None:
    entries = run(["good", "good:0.002"], tmp_path)
    assert [entry.state for entry in entries.values()] == ["measured"] * 2
    assert [len(entry.samples[0]) for entry in entries.values()] == [6, 6]
    medians = [np.median(entry.samples[0]) for entry in entries.values()]
    assert medians[1] == pytest.approx(2 * medians[0], rel=0.11)
    assert entries["good"].note == "1 rows" and entries["good"].error == 0


def test_cpu_seconds_count_on_request(tmp_path: Path) -> None:
    entries = run(["good:0.01"], tmp_path, settings=replace(SETTINGS, clock="cpu"))
    # The fake's wall clock goes up and down by a tenth, its CPU clock does not.
    assert entries["good:0.01"].samples == [[0.01] * 6]


def test_wrong_outputs_are_never_timed(tmp_path: Path) -> None:
    entries = run(["good", "wrong", "nan"], tmp_path)
    assert entries["wrong"].state == entries["nan"].state == "wrong"
    assert entries["nan"].error is None, "what JSON can hold"
    assert "y: error" in entries["wrong"].why
    assert entries["wrong"].samples == []
    assert entries["good"].state == "measured"


@pytest.mark.parametrize(
    ("name", "state", "why"), [("cannot", "cannot", "no such operator"), ("fails", "failed", "broken")]
)
def test_contenders_that_refuse(name: str, state: str, why: str, tmp_path: Path) -> None:
    entries = run([name, "good"], tmp_path)
    assert entries[name].state == state
    assert why in entries[name].why
    assert len(entries["good"].samples[0]) == 6


@pytest.mark.parametrize(("name", "words"), [("dies", "exit status 7"), ("crashes", "signal SIGSEGV")])
def test_a_worker_that_ends_is_told_of_and_the_others_go_on(name: str, words: str, tmp_path: Path) -> None:
    entries = run([name, "good"], tmp_path)
    assert entries[name].state == "failed"
    assert words in entries[name].why and "'turn'" in entries[name].why
    assert entries[name].samples == []
    assert len(entries["good"].samples[0]) == 6
    if name == "dies":
        assert "out of luck" in entries[name].why


def test_a_worker_that_hangs_is_given_up(tmp_path: Path) -> None:
    begun = time.monotonic()
    entries = run(["hangs", "good"], tmp_path, settings=replace(SETTINGS, timeout=2.0))
    assert entries["hangs"].state == "failed"
    assert "did not answer 'turn' within 2 s" in entries["hangs"].why
    assert entries["good"].state == "measured"
    assert time.monotonic() - begun < 60


def test_a_lost_worker_is_started_again_for_the_next_case(tmp_path: Path) -> None:
    np.savez(tmp_path / "expected.npz", y=np.zeros(1, np.float32))
    pool = Pool(SETTINGS, start)
    contender = Contender("dies", 1, tmp_path)
    try:
        for _ in range(2):
            entry = contest(CASE, tmp_path, [contender], pool, SETTINGS)["dies"]
            assert "exit status 7" in entry.why
        assert pool.versions == {"dies": "1.0"}
    finally:
        pool.close()


def test_what_would_take_too_long_is_measured_in_part(tmp_path: Path) -> None:
    case = replace(CASE, params={"rows": 100_000}, probe={"rows": 100})
    # 0.1 ms a row: 10 s for all, of which 4 s are allowed.
    entries = run(["good:0.0001", "good:0.000001"], tmp_path, case)
    slow, quick = entries["good:0.0001"], entries["good:0.000001"]
    assert (slow.part, quick.part) == (0.3, 1.0)
    assert slow.note == "30000 rows"
    assert np.median(slow.samples[0]) == pytest.approx(10.0, rel=0.11)
    assert np.median(quick.samples[0]) == pytest.approx(0.1, rel=0.11)


def test_rounds_are_fewer_where_a_case_would_take_longer_than_its_budget(tmp_path: Path) -> None:
    settings = replace(SETTINGS, rounds=50, fewest=3, budget=1.0)
    entries = run(["good:0.2"], tmp_path, settings=settings)
    assert len(entries["good:0.2"].samples[0]) in (3, 4)


def test_asking_a_worker(tmp_path: Path) -> None:
    with start(Contender("good", 1, tmp_path)) as worker:
        assert worker.ask({"do": "hello"}, 20)["versions"] == {"good": "1.0"}
        assert worker.alive
    assert not worker.alive
    with start(Contender("cannot", 1, tmp_path)) as worker, pytest.raises(Refused) as refused:
        worker.ask({"do": "prepare", "case": {"params": {}}, "outputs": ""}, 20)
    assert refused.value.cannot


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    contender = Contender("nobody", 2, tmp_path)
    command = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    words = r"nobody \(2 threads\) ended .*exit status 1; it printed:\nno such thing"
    with WorkerProcess(contender, command) as worker, pytest.raises(WorkerLost, match=words):
        worker.ask({"do": "hello"}, 20)
