"""Inputs as a model declares them, whose sizes each run decides: fed values in the declared type, or refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from basalt.errors import ValidationError

from .carriers import onnx_dtype

__all__ = ["Declared", "check_feeds", "check_known", "declared_value"]


class Declared(NamedTuple):
    """A value as a model declares it.

    ``kind`` is ``tensor``, ``sequence``, ``optional``, ``map`` or ``undefined``. ``dtype`` is a tensor's data type by
    ONNX's name, or ``undefined``; ``shape`` its sizes, each a number, a name, or None for any; or None for any shape.
    """

    name: str
    kind: str
    dtype: str
    shape: Sequence[int | str | None] | None


def check_feeds(feeds: Any, names: Collection[str]) -> None:
    """Refuse what is no mapping with a value for each input and nothing else. Raises ValidationError."""
    if not isinstance(feeds, Mapping):
        raise ValidationError(f"feeds is {type(feeds).__name__}, expected a dictionary from input names to arrays")
    check_known(feeds, names)
    for name in names:
        if name not in feeds:
            raise ValidationError(f"input {name!r} is missing; the inputs are {_listed(names)}")


def check_known(given: Iterable[str], names: Collection[str]) -> None:
    """Refuse names that no input has. Raises ValidationError."""
    for name in given:
        if name not in names:
            raise ValidationError(f"no input is named {name!r}; the inputs are {_listed(names)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def declared_value(declared: Declared, value: Any) -> Any:
    """A fed value in the declared data type.

    Raises:
        ValidationError: for another type or shape, and where a conversion would lose something.
    """
    if declared.kind != "tensor":
        return _plain(value)
    wanted = onnx_dtype(declared.dtype) if declared.dtype != "undefined" else None
    array = value if isinstance(value, np.ndarray) else _converted(declared, value, wanted)
    if wanted is not None and array.dtype != wanted:
        if wanted.kind != "O" or array.dtype.kind not in "US":
            raise ValidationError(f"input {declared.name!r} is {array.dtype.name}, expected {declared.dtype}")
        array = array.astype(object)
    if declared.shape is not None and not _fits(array.shape, declared.shape):
        raise ValidationError(
            f"input {declared.name!r} has shape {list(array.shape)}, expected "
            f"[{', '.join('?' if d is None else str(d) for d in declared.shape)}]"
        )
    return array


def _converted(declared: Declared, value: Any, wanted: np.dtype | None) -> np.ndarray:
    try:
        plain = np.asarray(value)
        array = plain if wanted is None else plain.astype(wanted)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValidationError(f"input {declared.name!r}: {error}") from None
    lossless = wanted is None or plain.dtype == object or plain.dtype.kind in "US" or np.array_equal(array, plain, True)
    if hasattr(value, "dtype") and wanted is not None and plain.dtype != wanted:
        lossless = False
    if not lossless and plain.dtype.kind != "f":
        raise ValidationError(f"input {declared.name!r} is {plain.dtype.name}, expected {wanted}")
    return array


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return np.asarray(value) if isinstance(value, (np.generic, int, float)) else value


def _fits(shape: tuple[int, ...], declared: Sequence[Any]) -> bool:
    return len(shape) == len(declared) and all(not isinstance(d, int) or d == s for s, d in zip(shape, declared))
