"""Whether a contender's outputs are those expected, before it is timed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .suites import Case

__all__ = ["wrong_outputs"]

ROWS = "__rows__"
"""In ``expected.npz``: the places along the first axis that expected outputs hold, where they do not hold all."""


def wrong_outputs(case: Case, folder: Path, results: Mapping[str, np.ndarray]) -> tuple[float, list[str]]:
    """The greatest error found, in parts of an output's scale, and what is wrong, a line an output.

    Numbers may be off by ``case.tolerance`` of the greatest expected magnitude; of whole numbers that are labels
    (params ``labels``), that share may differ.
    """
    with np.load(folder / "expected.npz", allow_pickle=False) as data:
        expected = dict(data)
    rows = expected.pop(ROWS, None)
    worst, wrong = 0.0, []
    for name, right in expected.items():
        if name not in results:
            wrong.append(f"{name}: not given; outputs are {', '.join(results)}")
            continue
        given = np.asarray(results[name])
        if rows is not None:
            kept = rows < len(given)
            given, right = given[rows[kept]], right[kept]
        if given.shape != right.shape:
            wrong.append(f"{name}: shape {given.shape}, expected {right.shape}")
            continue
        error = _error(given, right, labels=bool(case.params.get("labels")))
        worst = max(worst, error)
        if not error <= case.tolerance:
            wrong.append(f"{name}: error {error:.3g} of the scale, expected at most {case.tolerance:g}")
    return worst, wrong


def _error(given: np.ndarray, right: np.ndarray, labels: bool) -> float:
    if not right.size:
        return 0.0
    if labels or right.dtype.kind not in "fiu":
        return float(np.mean(given != right))
    given, right = given.astype(np.float64), right.astype(np.float64)
    finite = np.isfinite(right)
    if np.isnan(given[finite]).any() or not np.array_equal(given[~finite], right[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = max(float(np.abs(right[finite]).max()), 1e-6)
    return float(np.abs(given[finite] - right[finite]).max()) / scale
