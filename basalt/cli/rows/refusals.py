"""Which row and column it is for which a model refuses a chunk of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from basalt.cli.rows.features import Features
from basalt.errors import ValidationError

__all__ = ["neutral_row", "refused_cell"]


def refused_cell(call: Callable[[np.ndarray], Any], rows: np.ndarray, features: Features) -> tuple[int, int | None]:
    """The first row that is refused, and the column; None where no column alone is the reason.

    ``call`` raises ValidationError for ``rows`` as a whole. Whether a row is refused hangs on nothing but that row.
    """
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _refuses(call, rows[low:middle]) else (middle, high)
    row = rows[low : low + 1]
    suspects = [place for place in range(row.shape[1]) if _is_odd(row[0, place], features.categories.get(place))]
    for place in suspects:
        trial, neutral = row.copy(), neutral_row(features, row.shape[1])
        others = [other for other in suspects if other != place]
        trial[0, others] = neutral[0, others]
        if _refuses(call, trial):
            return low, place
    return low, None


def neutral_row(features: Features, width: int) -> np.ndarray:
    """A row [1, width] that every model takes: zeros, and the first of the categories."""
    row = np.zeros((1, width), object if features.categories else np.float64)
    for place, known in features.categories.items():
        row[0, place] = next(iter(known), math.nan)
    return row


def _refuses(call: Callable[[np.ndarray], Any], rows: np.ndarray) -> bool:
    try:
        call(rows)
    except ValidationError:
        return True
    return False


def _is_odd(value: Any, categories: Sequence[Any] | None) -> bool:
    if categories is None:
        return not math.isfinite(value)
    return value not in categories
