"""The logarithms of Gaussian densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import Value
from ..emitter import Emitter

__all__ = ["log_densities"]


def log_densities(e: Emitter, x: Value, means: Any, factors: Sequence[np.ndarray], constants: np.ndarray) -> Value:
    """``constants[k] - |(x - means[k]) @ factors[k]|^2 / 2`` for each k: [rows, k].

    ``factors`` [features, rank] are those of the precisions.
    """
    centre = np.mean(np.asarray(means, float), axis=0)
    rows = e.emit("sub", x, centre)
    weights = np.concatenate(list(factors), axis=1)
    moved = [(np.asarray(mean, float) - centre) @ factor for mean, factor in zip(means, factors)]
    y = e.emit("sub", e.times(rows, weights.T), np.concatenate(moved))
    sizes = [factor.shape[1] for factor in factors]
    if len(set(sizes)) == 1:
        grouped = e.reshape(y, (e.rows, len(sizes), sizes[0]))
        squares = e.emit("reduce_sum_square", grouped, axes=(2,), keep_dimensions=False)
    else:
        parts = e.split_columns(y, sizes)
        squares = e.joined([e.emit("reduce_sum_square", p, axes=(1,), keep_dimensions=True) for p in parts])
    return e.emit("add", e.emit("mul", squares, -0.5), np.asarray(constants, float))
