"""The columns that a model takes, and where they stand in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np

__all__ = ["Chunk", "Features", "arranged", "column_labels", "shown"]


@dataclass(frozen=True)
class Features:
    """``names`` of the columns if the model has any, their number if it is fixed, and the categories of the columns
    that are no numbers, by place."""

    names: tuple[str, ...] | None
    width: int | None
    categories: Mapping[int, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Chunk:
    """Some rows in the order of the features: float64 [rows, features], or objects where there are categories.

    ``places`` [rows] tells where each row stands in its file: the number of its line or row, from 1.
    """

    rows: np.ndarray
    places: np.ndarray


def arranged(features: Features, header: Sequence[str] | None, count: int, name: str) -> list[int]:
    """The table's column for each feature.

    ``header`` is the names of the ``count`` columns of table ``name``, None if it has none. Raises click.ClickException
    for another number of columns than the model takes, and for other names.
    """
    if features.names is not None and header is not None:
        return _by_name(features.names, header, name)
    if features.width is not None and count != features.width:
        raise click.ClickException(f"{name}: has {count} columns, expected {features.width}")
    if header is not None and _looks_like_a_row(header):
        raise click.ClickException(
            f"{name}: its first line holds numbers only, expected the columns' names; if it is a row, say --no-header"
        )
    return list(range(count))


def _by_name(names: Sequence[str], header: Sequence[str], table: str) -> list[int]:
    if list(header) == list(names):
        return list(range(len(names)))
    missing = [n for n in names if n not in header]
    unknown = [n for n in header if n not in names]
    repeated = sorted({n for n in header if list(header).count(n) > 1 and n in names})
    faults = [
        f"{what} {shown(found)}"
        for what, found in (("lacks", missing), ("has unknown", unknown), ("repeats", repeated))
        if found
    ]
    if faults:
        hint = "; if its first line is a row, say --no-header" if _looks_like_a_row(header) else ""
        raise click.ClickException(
            f"{table}: the header {', '.join(faults)}; expected the columns {shown(names)}, in any order{hint}"
        )
    return [list(header).index(n) for n in names]


def _looks_like_a_row(header: Sequence[str]) -> bool:
    """Whether the names are numbers, but not those that pandas gives to columns without names."""
    try:
        numbers = [float(cell or "nan") for cell in header]
    except ValueError:
        return False
    return numbers != list(range(len(header)))


def shown(names: Sequence[str]) -> str:
    """Some names for a message: all of them, or the first few of many."""
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def column_labels(features: Features, header: Sequence[str] | None, places: Sequence[int]) -> list[str]:
    """Each feature for messages: its name, or its number from 1 where neither the model nor the table names it."""
    names = features.names or ([header[i] for i in places] if header is not None else None)
    return [f"column {names[i]!r}" if names is not None else f"column {i + 1}" for i in range(len(places))]
