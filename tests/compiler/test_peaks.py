"""The measured limits of the machine."""

from __future__ import annotations

import pytest

from basalt.compiler.peaks import Peaks, measure_peaks

PEAKS = Peaks(1, {"float32": 100e9, "int8": 400e9}, ((1000, 50e9), (1_000_000, 10e9)))


def test_bandwidth_by_size() -> None:
    assert [PEAKS.bandwidth_for(n) for n in (0, 1000, 1001, 10**9)] == [50e9, 50e9, 10e9, 10e9]
    assert PEAKS.memory == 10e9


@pytest.mark.parametrize(
    ("operations", "nbytes", "dtype", "least"),
    [(100_000, 100, "float32", 1e-6), (0, 5000, "", 5e-7), (400_000, 0, "int8", 1e-6), (100_000, 0, "float64", 1e-6)],
)
def test_the_roofline(operations: int, nbytes: int, dtype: str, least: float) -> None:
    assert PEAKS.seconds(operations, nbytes, dtype) == pytest.approx(least)


@pytest.mark.parametrize("threads", [1, 2])
def test_measuring(threads: int) -> None:
    told: list[tuple[int, int]] = []
    peaks = measure_peaks(threads, lambda done, total: told.append((done, total)))
    assert peaks.threads == threads
    assert {"float32", "float64"} <= peaks.operations.keys()
    # Any machine of this century multiplies a hundred million numbers a second.
    assert min(peaks.operations.values()) > 1e8 and min(speed for _, speed in peaks.bandwidth) > 1e8
    assert [done for done, _ in told] == list(range(1, told[-1][1] + 1))
