"""Rows as callers give them (arrays, lists, DataFrames), as the matrix that the graph takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.errors import ValidationError

from .facts import Facts

__all__ = ["matrix", "numbers"]


def numbers(rows: Any, facts: Facts) -> np.ndarray:
    """As :func:`matrix`, but an array of numbers is left as it is, to be converted a part at a time."""
    if type(rows) is np.ndarray and rows.dtype.kind in "fiub" and not facts.vocabularies:
        _check_shape(rows.shape, facts.n_features)
        return rows
    return matrix(rows, facts)


def matrix(rows: Any, facts: Facts) -> np.ndarray:
    """The rows as a matrix [rows, features] of the working data type; categories become codes.

    Raises:
        ValidationError: for another number of features, no rows, columns of other names, and what is no number.
    """
    width = facts.n_features
    if hasattr(rows, "columns") and hasattr(rows, "to_numpy"):
        rows = _in_order(rows, facts)
        if facts.vocabularies or facts.ignored:
            _check_shape(rows.shape, width)
            return _by_columns([rows.iloc[:, i] for i in range(width)], facts)
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    if facts.vocabularies or (facts.ignored and not _are_numbers(rows)):
        given = np.asarray(rows, object)
        _check_shape(given.shape, width)
        return _by_columns(list(given.T), facts)
    try:
        found = _numbers(rows, facts.dtype)
    except (TypeError, ValueError) as error:
        raise ValidationError(f"input X: {error}; expected numbers") from None
    _check_shape(found.shape, width)
    return found


def _numbers(given: Any, dtype: str) -> np.ndarray:
    """Numbers of the working data type; what pandas holds for a missing value becomes NaN."""
    if hasattr(given, "iloc"):
        return np.asarray(given.to_numpy(dtype=dtype, na_value=np.nan))
    return np.asarray(given, dtype)


def _are_numbers(rows: Any) -> bool:
    return isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf"


def _check_shape(shape: tuple[int, ...], width: int) -> None:
    if len(shape) != 2:
        hint = "; for one row give [row]" if len(shape) == 1 else ""
        raise ValidationError(f"input X has shape {list(shape)}, expected rows of {width} features{hint}")
    if shape[1] != width:
        raise ValidationError(f"input X has {shape[1]} features, expected {width}")
    if shape[0] == 0:
        raise ValidationError("input X has no rows, expected at least 1")


def _in_order(frame: Any, facts: Facts) -> Any:
    """A DataFrame with its columns in the order of the features, where both have names."""
    names = facts.feature_names
    given = [str(name) for name in frame.columns]
    if names is None or given == list(names):
        return frame
    missing = [n for n in names if n not in given]
    unexpected = [n for n in given if n not in names]
    if missing or unexpected or len(given) != len(names):
        parts = [f"lack {_shown(missing)}"] if missing else []
        parts += [f"have {_shown(unexpected)} in excess"] if unexpected else []
        raise ValidationError(f"input X: its columns {' and '.join(parts) or 'repeat a name'}")
    return frame.iloc[:, [given.index(n) for n in names]]


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _by_columns(columns: Sequence[Any], facts: Facts) -> np.ndarray:
    found = np.empty((len(columns[0]), len(columns)), facts.dtype)
    for place, column in enumerate(columns):
        if place in facts.ignored:
            found[:, place] = 0
            continue
        if place in facts.vocabularies:
            found[:, place] = facts.vocabularies.encode(place, np.asarray(column, object))
            continue
        try:
            found[:, place] = _numbers(column, facts.dtype)
        except (TypeError, ValueError) as error:
            name = facts.feature_names[place] if facts.feature_names else place
            raise ValidationError(f"input X: column {name!r}: {error}; expected numbers") from None
    return found
