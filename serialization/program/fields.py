"""Taking values out of a record from a file that need not be what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from basalt.errors import ModelFormatError

from .records import Record, RecordValue

__all__ = ["Fields"]

_INT64 = 1 << 63


class Fields:
    """A record whose values are asked for by name and type.

    Raises ModelFormatError, naming the file and the field, for a value that is missing or of another type.
    """

    def __init__(self, record: Record, where: str) -> None:
        self._record = record
        self.where = where

    def fail(self, name: str, message: str) -> NoReturn:
        """Refuse the field ``name``."""
        raise ModelFormatError(f"{self.where}: {name}: {message}")

    def has(self, name: str) -> bool:
        """Whether the record has the field."""
        return name in self._record

    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self._record)

    def value(self, name: str) -> RecordValue:
        """A value of any type."""
        return self._get(name)

    def integer(self, name: str, least: int = 0, most: int = _INT64 - 1) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self._get(name)
        if type(value) is not int or not least <= value <= most:
            self.fail(name, f"{_shown(value)} given, expected a whole number from {least} to {most}")
        return value

    def text(self, name: str) -> str:
        """A string."""
        value = self._get(name)
        if not isinstance(value, str):
            self.fail(name, f"{_shown(value)} given, expected text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A tuple of strings."""
        value = self._get(name)
        if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
            self.fail(name, f"{_shown(value)} given, expected a tuple of texts")
        return value  # type: ignore[return-value]

    def integers(self, name: str, least: int = 0) -> tuple[int, ...]:
        """A tuple of whole numbers of at least ``least``."""
        value = self._get(name)
        if not isinstance(value, tuple) or not all(type(item) is int and least <= item < _INT64 for item in value):
            self.fail(name, f"{_shown(value)} given, expected a tuple of whole numbers from {least} on")
        return value  # type: ignore[return-value]

    def plain(self, name: str) -> Any:
        """An attribute's value of any type (tuples nest)."""
        value = self._get(name)
        if isinstance(value, (np.ndarray, list, dict)):
            self.fail(name, f"{_shown(value)} given, expected a plain value")
        return value

    def array(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """An array of this data type and shape; None in the shape stands for any size."""
        value = self._get(name)
        if not isinstance(value, np.ndarray) or value.dtype.name != dtype or not _fits(value.shape, shape):
            wanted = f"{dtype}[{', '.join('any' if size is None else str(size) for size in shape)}]"
            self.fail(name, f"{_shown(value)} given, expected {wanted}")
        return value

    def any_array(self, name: str) -> np.ndarray:
        """An array of any data type and shape."""
        value = self._get(name)
        if not isinstance(value, np.ndarray):
            self.fail(name, f"{_shown(value)} given, expected an array")
        return value

    def values(self, name: str) -> list[RecordValue]:
        """A list of values."""
        value = self._get(name)
        if not isinstance(value, list):
            self.fail(name, f"{_shown(value)} given, expected a list")
        return value

    def record(self, name: str) -> Fields:
        """A record."""
        value = self._get(name)
        if not isinstance(value, dict):
            self.fail(name, f"{_shown(value)} given, expected a record")
        return Fields(value, f"{self.where}: {name}")

    def records(self, name: str) -> Iterator[Fields]:
        """A list of records, one after another."""
        for index, value in enumerate(self.values(name)):
            if not isinstance(value, dict):
                self.fail(f"{name}[{index}]", f"{_shown(value)} given, expected a record")
            yield Fields(value, f"{self.where}: {name}[{index}]")

    def _get(self, name: str) -> RecordValue:
        if name not in self._record:
            self.fail(name, "the field is missing")
        return self._record[name]


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(size in (None, given) for size, given in zip(wanted, shape))


def _shown(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, (dict, list, tuple, bytes)):
        return f"a {type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
