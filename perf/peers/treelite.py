"""Treelite's general tree inference (gtil): forests and boosted trees, interpreted."""

from __future__ import annotations

import numpy as np

from . import Prepared, Task, installed
from .files import fitted, rows_of, threads_worth

__all__ = ["positive", "prepare", "versions"]


def versions() -> dict[str, str]:
    """Treelite."""
    return installed("treelite")


def prepare(task: Task) -> Prepared:
    """``treelite.gtil.predict`` of a forest or of histogram boosting."""
    import treelite

    model = treelite.sklearn.import_model(fitted(task, "forest", "histboosting"))
    rows, threads = rows_of(task, np.float64), threads_worth(task)
    predict = treelite.gtil.predict
    return Prepared(
        lambda: predict(model, rows, nthread=threads),
        lambda: {"y": positive(predict(model, rows, nthread=threads))},
        f"gtil (interpreted), nthread={threads}",
    )


def positive(result: np.ndarray) -> np.ndarray:
    """Probabilities [rows, 2] from what Treelite gives: [rows, 1, classes], or the second class's alone."""
    flat = np.asarray(result, np.float64).reshape(len(result), -1)
    return np.column_stack([1 - flat[:, 0], flat[:, 0]]) if flat.shape[1] == 1 else flat
