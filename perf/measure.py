"""Measuring on a shared machine: contenders take turns, medians are quoted, whole processes start from nothing."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_BLAS_OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def interleaved(
    contenders: Mapping[str, Callable[[], Any]], rounds: int = 15, seconds: float = 0.02
) -> dict[str, float]:
    """The median seconds of a call of each contender; all take a turn in each round.

    Args:
        contenders: what to call, by name.
        rounds: turns of each.
        seconds: about how long a turn lasts (a fast call is repeated within it).
    """
    repeats = {name: max(1, int(seconds / max(_once(call), 1e-8))) for name, call in contenders.items()}
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            count = repeats[name]
            start = time.perf_counter()
            for _ in range(count):
                call()
            samples[name].append((time.perf_counter() - start) / count)
    return {name: statistics.median(times) for name, times in samples.items()}


def _once(call: Callable[[], Any]) -> float:
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_process(code: str, *, environment: Mapping[str, str] | None = None) -> Any:
    """Run code in a fresh interpreter at the repository's root; what it prints last, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean_environment(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a measured process failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def whole_process(commands: Mapping[str, Sequence[str]], rounds: int = 9) -> dict[str, float]:
    """The median wall seconds of each command from start to exit; all take a turn in each round."""
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, cwd=ROOT, env=clean_environment(), check=True, capture_output=True)
            if turn:
                samples[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in samples.items()}


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This environment without what would make NumPy's BLAS another one, and with more variables."""
    return {k: v for k, v in os.environ.items() if k not in _BLAS_OVERRIDES} | dict(extra or {})
