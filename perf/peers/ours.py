"""Basalt: ``basalt`` as it comes, ``basalt-f32`` with estimators in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import CannotRun, Prepared, Task, installed
from .files import feeds_of, fitted, flat_outputs, kind_of, rows_of

__all__ = ["prepare", "versions"]


def versions() -> dict[str, str]:
    """Basalt and what its code is made with."""
    import basalt

    return {"basalt": basalt.__version__} | installed("numba", "llvmlite", "numpy")


def prepare(task: Task) -> Prepared:
    """The problem in Basalt, everything compiled before the first call."""
    import basalt

    basalt.set_num_threads(task.threads)
    if kind_of(task) == "estimator":
        return _estimator(task)
    if kind_of(task) == "onnx":
        return _onnx(task)
    raise CannotRun(f"{task.contender} does not run a problem of kind {kind_of(task)}")


def _estimator(task: Task) -> Prepared:
    import basalt

    dtype = "float32" if task.contender.endswith("f32") else "float64"
    model = basalt.from_sklearn(fitted(task), dtype=dtype)
    rows = rows_of(task, dtype)
    method: Any = getattr(model, task.params["method"])
    return Prepared(lambda: method(rows), lambda: {"y": method(rows)}, f"{dtype} rows")


def _onnx(task: Task) -> Prepared:
    import basalt

    if task.contender != "basalt":
        raise CannotRun("float32 on request is for estimators")
    model = basalt.load(task.folder / "model.onnx", threads=task.threads, eager_first_run=False)
    feeds = feeds_of(task)
    first = model.run(feeds)
    if not task.params.get("bound"):
        return Prepared(lambda: model.run(feeds), lambda: flat_outputs(model.run(feeds)))
    out = {name: np.empty_like(array) for name, array in first.items()}
    return Prepared(lambda: model.run(feeds, out), lambda: model.run(feeds))
