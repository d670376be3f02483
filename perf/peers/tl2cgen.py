"""Treelite models compiled to C by TL2cgen and a C compiler."""

from __future__ import annotations

import shutil

import numpy as np

from . import CannotRun, Prepared, Task, installed
from .files import fitted, rows_of, threads_worth
from .treelite import positive

__all__ = ["prepare", "versions"]

_FILES = 50


def versions() -> dict[str, str]:
    """TL2cgen and Treelite."""
    return installed("tl2cgen", "treelite")


def prepare(task: Task) -> Prepared:
    """A library compiled once a problem, and its predictor; rows are wrapped in a DMatrix before anything is timed."""
    import tl2cgen
    import treelite

    estimator = fitted(task, "forest", "histboosting")
    compiler = next((name for name in ("gcc", "clang") if shutil.which(name)), None)
    if compiler is None:
        raise CannotRun("TL2cgen needs gcc or clang")
    library = task.folder / "tl2cgen.so"
    if not library.exists():
        model = treelite.sklearn.import_model(estimator)
        # Trees in many files: a compiler's time grows faster than a file.
        tl2cgen.export_lib(model, toolchain=compiler, libpath=str(library), params={"parallel_comp": _FILES})
    predictor = tl2cgen.Predictor(str(library), nthread=threads_worth(task))
    rows = tl2cgen.DMatrix(rows_of(task, np.float64), dtype="float64")
    return Prepared(
        lambda: predictor.predict(rows), lambda: {"y": positive(predictor.predict(rows))}, f"compiled by {compiler}"
    )
