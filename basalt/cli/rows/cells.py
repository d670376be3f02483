"""Cells of text as the numbers and categories that a model takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from basalt.cli.rows.features import Features

__all__ = ["Converter", "number"]


def number(text: str) -> float:
    """The number in a cell, NaN for an empty one.

    Raises ValueError for anything else, digits of other scripts and underscores included, which ``float`` takes.
    """
    stripped = text.strip()
    if not stripped:
        return math.nan
    if "_" in stripped or not stripped.isascii():
        raise ValueError(f"{text!r} is no number")
    return float(stripped)


class Converter:
    """Turns columns of text into rows in the order of the features; ``places`` has the text's column of each."""

    def __init__(self, features: Features, places: Sequence[int]) -> None:
        self._places = places
        self._categories = {place: _category_of(known) for place, known in features.categories.items()}

    def rows(self, records: Sequence[Sequence[str]]) -> np.ndarray:
        """The rows of a Chunk. Raises ValueError where a cell is no number; :meth:`fault` says which."""
        columns = list(zip(*records))
        made = np.empty((len(records), len(self._places)), object if self._categories else np.float64)
        for place, source in enumerate(self._places):
            category = self._categories.get(place)
            cells = columns[source]
            made[:, place] = _numbers(cells) if category is None else list(map(category, cells))
        return made

    def fault(self, records: Sequence[Sequence[str]]) -> tuple[int, int, str]:
        """The first row that has a cell that is no number, the feature, and the cell."""
        for row, record in enumerate(records):
            for place, source in enumerate(self._places):
                try:
                    place in self._categories or number(record[source])
                except ValueError:
                    return row, place, record[source]
        raise AssertionError("every cell is a number")


def _numbers(cells: Sequence[str]) -> list[float]:
    together = "".join(cells)
    if together.isascii() and "_" not in together:
        try:
            return list(map(float, cells))
        except ValueError:
            pass
    return list(map(number, cells))


def _category_of(known: Sequence[Any]) -> Callable[[str], Any]:
    """What tells the category of a cell. Text that is none is given as it is, for the model to judge."""
    texts = {c for c in known if isinstance(c, str)}
    others: dict[Any, Any] = {float(c): c for c in known if isinstance(c, (int, float)) and not isinstance(c, bool)}
    words = {str(c): c for c in known if isinstance(c, bool)}
    missing = next((c for c in known if c is None), math.nan)

    def category(cell: str) -> Any:
        if cell in texts:
            return cell
        if not cell.strip():
            return missing
        if cell in words:
            return words[cell]
        try:
            return others.get(number(cell), cell)
        except ValueError:
            return cell

    return category
