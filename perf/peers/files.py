"""What adapters read: the estimator, rows, models and feeds of a problem's folder."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import CannotRun, Task

__all__ = ["feeds_of", "fitted", "flat_outputs", "kind_of", "rows_of", "threads_worth", "weights_of"]

_ROWS_WORTH_THREADS = 1000


def kind_of(task: Task) -> str:
    """What the problem is: estimator, onnx or process."""
    return str(task.params["kind"])


def fitted(task: Task, *kinds: str) -> Any:
    """The fitted estimator of the problem: a pickle that ``build`` has just written.

    Raises CannotRun for another kind of problem, or a model that is none of ``kinds`` (all, if none is named).
    """
    if kind_of(task) != "estimator":
        raise CannotRun(f"{task.contender} runs estimators only")
    if kinds and task.params["model"] not in kinds:
        raise CannotRun(f"{task.contender} runs {', '.join(kinds)} only")
    with open(task.folder / "estimator.pkl", "rb") as file:
        return pickle.load(file)


def rows_of(task: Task, dtype: Any) -> np.ndarray:
    """The rows that a call predicts, C-contiguous [rows, features]."""
    stored = np.load(task.folder / "rows.npy", mmap_mode="r", allow_pickle=False)
    return np.array(stored[: task.params["rows"]], dtype=dtype, order="C")


def feeds_of(task: Task) -> dict[str, np.ndarray]:
    """The inputs of a model."""
    with np.load(task.folder / "feeds.npz", allow_pickle=False) as data:
        return dict(data)


def threads_worth(task: Task) -> int:
    """Threads for a library that is told how many at each call: one where rows are too few to pay for a start."""
    return task.threads if task.params["rows"] >= _ROWS_WORTH_THREADS else 1


def weights_of(task: Task) -> dict[str, np.ndarray]:
    """The constants of a model, by name."""
    import onnx

    model = onnx.load(task.folder / "model.onnx")
    return {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def flat_outputs(outputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Outputs as arrays; those that are a map a row as columns in sorted order of keys."""
    flat = {}
    for name, value in outputs.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = [[row[key] for key in sorted(row)] for row in value]
        flat[name] = np.asarray(value)
    return flat
