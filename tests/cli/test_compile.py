"""``bslc compile``, end to end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from basalt.cli import main

from .conftest import TIMEOUT, Bslc, cached_in


def test_the_second_time_finds_all_in_the_cache(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    first = bslc("compile", models["affine"], "--dim", "n=3", environment=cached_in(own_cache))
    assert (first.status, first.err) == (0, "")
    assert first.out.startswith("kernel ")
    assert "scale, shift, clip" in first.out
    assert "\n2 compiled in " in first.out and f", 0 found in the cache ({own_cache})\n" in first.out
    assert first.out.endswith("in all, for n = 3\n")
    second = bslc("compile", models["affine"], "--dim", "n=3", environment=cached_in(own_cache))
    assert second.status == 0
    assert f"\n0 compiled, 2 found in the cache ({own_cache})\n" in second.out
    assert [line.split()[-1] for line in second.out.splitlines() if line.startswith("executor")] == ["cached"]


def test_a_run_after_it_compiles_nothing(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    environment = cached_in(own_cache)
    sizes = ["--shape", "a=2x3"]
    report = json.loads(bslc("compile", models["pair"], *sizes, "--json", environment=environment).out)
    assert report["shapes"] == {"a": [2, 3], "k": [2]}
    assert report["dims"] == {"m": 3, "n": 2}
    assert (report["compiled"], report["found"]) == (len(report["kernels"]), 0)
    assert all(kernel["seconds"] > 0 for kernel in report["kernels"])
    assert report["compile_seconds"] == pytest.approx(sum(kernel["seconds"] for kernel in report["kernels"]))
    executor, *kernels = report["kernels"]
    assert (executor["what"], executor["calls"]) == ("executor", 0)
    assert kernels and all(kernel["calls"] > 0 for kernel in kernels)
    assert len(list(own_cache.glob("*.kernel"))) == len(report["kernels"])
    ran = json.loads(bslc("run", models["pair"], "--random", *sizes, "--json", environment=environment).out)
    assert ran["compiled"] == 0
    other = json.loads(bslc("run", models["affine"], "--random", "--json", environment=environment).out)
    assert other["compiled"] == 1


def test_assumed_sizes_are_told(bslc: Bslc, models: Mapping[str, Path]) -> None:
    done = bslc("compile", models["pair"], "--dim", "m=2")
    assert done.status == 0
    assert done.err == "note: n = 1 (--dim or --shape says otherwise)\n"
    assert done.out.endswith("in all, for m = 2, n = 1\n")


def test_progress_is_shown_on_a_terminal_only(bslc: Bslc, models: Mapping[str, Path], own_cache: Path) -> None:
    shown = bslc.on_terminal("compile", models["affine"], "--dim", "n=3", environment=cached_in(own_cache)).out
    assert "compiling" in shown and "of 1 kernels" in shown and "\x1b[?25l" in shown
    assert "\x1b[?25h" in shown[shown.rindex("compiling") :], "the cursor must come back"
    silent = bslc("compile", models["affine"], "--dim", "n=5", environment=cached_in(own_cache))
    assert silent.err == ""


def test_an_interrupt_ends_it_and_leaves_a_usable_cache(
    bslc: Bslc, models: Mapping[str, Path], own_cache: Path
) -> None:
    environment = cached_in(own_cache)
    process = bslc.start("compile", models["many"], environment=environment)
    deadline = time.monotonic() + TIMEOUT
    while process.poll() is None and len(list(own_cache.glob("*.kernel"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out, err.strip()) == (130, b"", b"interrupted")
    assert not list(own_cache.glob(".tmp*"))
    kept = len(list(own_cache.glob("*.kernel")))
    done = bslc("compile", models["many"], environment=environment)
    assert done.status == 0
    assert 3 <= kept < 17
    assert f"\n{17 - kept} compiled in " in done.out and f", {kept} found in the cache" in done.out


def test_an_interrupt_outside_of_a_command_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("basalt.cli.app.run", interrupted)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 130


def test_a_cache_that_cannot_be_written_is_an_error(bslc: Bslc, models: Mapping[str, Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    done = bslc("compile", models["affine"], "--dim", "n=3", environment=cached_in(folder))
    assert (done.status, done.out) == (1, "")
    warning, error = done.err.splitlines()
    assert warning.startswith(f"warning: compiled kernels cannot be kept in {folder}: ")
    assert error == f"error: 2 of 2 kernels could not be kept in the cache ({folder})"


def test_tuning_tries_other_kernels_and_tells_what_came_of_it(
    bslc: Bslc, models: Mapping[str, Path], own_cache: Path
) -> None:
    environment = cached_in(own_cache)
    arguments = [models["affine"], "--dim", "n=64", "--tune", "--threads", "1"]
    done = bslc("compile", *arguments, environment=environment)
    assert (done.status, done.err) == (0, "")
    assert " trials in " in done.out
    report = json.loads(bslc("compile", *arguments, "--json", environment=environment).out)
    assert set(report["tuning"]) == {"trials", "seconds", "changed"}
    again = bslc("compile", *arguments, "--tune-seconds", "0", environment=environment)
    assert "0 trials in " in again.out


def test_how_to_tune_needs_tune(bslc: Bslc, models: Mapping[str, Path]) -> None:
    for options in (["--threads", "1"], ["--tune-seconds", "3"]):
        refused = bslc("compile", models["affine"], *options)
        assert refused.status == 2 and "--tune" in refused.err
