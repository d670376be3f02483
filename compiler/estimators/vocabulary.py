"""Categories that are not numbers: which code stands for each in a column of the input."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["Vocabularies", "is_missing", "plain"]

UNKNOWN = -1.0
"""The code of what no vocabulary has."""


def plain(value: Any) -> Any:
    """A category as a Python object."""
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    """Whether a category is NaN (pandas' NA included, which equals nothing either)."""
    return (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"


def _key(value: Any) -> Any:
    value = plain(value)
    return ("nan",) if is_missing(value) else (isinstance(value, bool), value)


class Vocabularies:
    """For each input column with categories that are not numbers, its categories; their places are their codes."""

    def __init__(self) -> None:
        self._codes: dict[int, dict[Any, int]] = {}
        self._values: dict[int, list[Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._values)

    def __contains__(self, column: int) -> bool:
        return column in self._values

    def columns(self) -> dict[int, list[Any]]:
        """The categories of each such column, in the order of their codes."""
        return {column: list(self._values[column]) for column in sorted(self._values)}

    def codes(self, column: int, categories: Iterable[Any]) -> np.ndarray:
        """The codes of some categories of a column, new ones being given to those that had none; float64."""
        known = self._codes.setdefault(column, {})
        values = self._values.setdefault(column, [])
        for category in categories:
            if known.setdefault(_key(category), len(values)) == len(values):
                values.append(plain(category))
        return np.array([known[_key(c)] for c in categories], np.float64)

    def encode(self, column: int, values: Iterable[Any]) -> np.ndarray:
        """The codes of values, UNKNOWN for those that are no category."""
        known = self._codes[column]
        return np.array([_lookup(known, v) for v in values], np.float64)


def _lookup(known: dict[Any, int], value: Any) -> float:
    try:
        return known.get(_key(value), UNKNOWN)
    except TypeError:
        return UNKNOWN
