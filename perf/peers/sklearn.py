"""scikit-learn itself."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import Prepared, Task, installed
from .files import fitted, rows_of, threads_worth

__all__ = ["prepare", "versions"]


def versions() -> dict[str, str]:
    """scikit-learn and NumPy."""
    return installed("scikit-learn", "numpy")


def prepare(task: Task) -> Prepared:
    """The estimator's method; forests use all threads where rows are many enough to pay for their start."""
    estimator, rows = fitted(task), rows_of(task, np.float64)
    note = ""
    if hasattr(estimator, "n_jobs"):
        jobs = threads_worth(task)
        estimator.set_params(n_jobs=jobs)
        note = f"n_jobs={jobs}"
    os.environ.setdefault("LOKY_MAX_CPU_COUNT", str(task.threads))
    method: Any = getattr(estimator, task.params["method"])
    return Prepared(lambda: method(rows), lambda: {"y": method(rows)}, note)
