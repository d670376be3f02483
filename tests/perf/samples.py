"""Results made by hand, for tests of what is made of results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perf.contest import Entry
from perf.results import CaseResult, Results


def entry(median: float, noise: float = 0.01, rounds: int = 25, launches: int = 1, seed: int = 0) -> Entry:
    """An entry whose rounds scatter around a median."""
    rng = np.random.default_rng(seed)
    samples = [list(median * (1 + noise * rng.standard_normal(rounds))) for _ in range(launches)]
    return Entry(calls=10, cpu=median, error=1e-7, samples=samples)


def compared(new: Entry, base: Entry, name: str = "gemm/2x2x2", threads: int = 1) -> CaseResult:
    """A case of a comparison."""
    return CaseResult("kernels", name, threads, {}, {"basalt@new": new, "basalt@base": base}, 0.0)


def results(cases: Sequence[CaseResult], kind: str = "run", commit: str = "0123456789ab", day: int = 1) -> Results:
    """A run of one machine."""
    return Results(
        kind=kind,
        commit=commit,
        date=f"2026-01-{day:02}T12:00:00+00:00",
        machine={"cpu": "A <fast> processor", "cores": 2, "caches": {"L2": "2048K"}},
        versions={"basalt": "0.1.0", "onnxruntime": "1.2.3"},
        settings={"rounds": 25, "threads": [1, 2]},
        load={"before": [0.1, 0.1, 0.1], "after": [1.0, 0.5, 0.2]},
        cases=list(cases),
        peaks={
            str(threads): {
                "operations": {"float32": 2e11 * threads, "int8": 8e11 * threads},
                "bandwidth": [[200_000.0, 1e11], [2e8, 2e10]],
            }
            for threads in (1, 2)
        },
    )


def kernels(threads: int, factor: float = 1.0) -> list[CaseResult]:
    """Cases with peers: one that wins, one that loses, one that a peer cannot do, one that went wrong."""
    flops = {"flops": 1e9, "bytes": 1e6}
    return [
        CaseResult(
            "kernels", "gemm/a<b", threads, flops, {"basalt": entry(0.01 * factor), "ort": entry(0.02, seed=1)}, 0.02
        ),
        CaseResult(
            "kernels", "conv/c", threads, flops, {"basalt": entry(0.02 * factor), "ort": entry(0.01, seed=2)}, 0.5
        ),
        CaseResult(
            "kernels",
            "softmax/d",
            threads,
            {"bytes": 2e6},
            {"basalt": entry(0.001 * factor), "ort": Entry("cannot", "no")},
            None,
        ),
        CaseResult(
            "kernels",
            "int8/e",
            threads,
            {"int8": 1e9},
            {"basalt": entry(0.002), "ort": Entry("wrong", "y: error 0.5 of the scale")},
            None,
        ),
    ]
