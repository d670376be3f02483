"""The table of operators: one instance of each declared class, by snake_case name.

Extension operators stand apart: graphs may hold them like any other, but they are no part of the standard's language.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import TypeVar

from .schema import Operator

_T = TypeVar("_T", bound=Operator)

_OPERATORS: dict[str, Operator] = {}
_EXTENSIONS: dict[str, Operator] = {}


def register(cls: type[_T]) -> type[_T]:
    """Class decorator: add an operator to the table.

    Raises:
        TypeError: for a class without a name, operands, shape rule or NumPy semantics, and for a name already taken.
    """
    return _register(cls, _OPERATORS)


def register_extension(cls: type[_T]) -> type[_T]:
    """As :func:`register`, for an operator that the standard lacks (see :mod:`basalt.ops.extension`)."""
    return _register(cls, _EXTENSIONS)


def _register(cls: type[_T], table: dict[str, Operator]) -> type[_T]:
    if inspect.isabstract(cls):
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        raise TypeError(f"operator {cls.__name__} does not implement {', '.join(missing)}")
    for attribute in ("name", "operands"):
        if not hasattr(cls, attribute):
            raise TypeError(f"operator {cls.__name__} declares no {attribute}")
    if cls.name in _OPERATORS or cls.name in _EXTENSIONS:
        raise TypeError(f"operator {cls.name} is declared twice")
    table[cls.name] = cls()
    return cls


def get(name: str) -> Operator:
    """The operator of a name, extensions included.

    Raises:
        KeyError: for an unknown name.
    """
    found = _OPERATORS.get(name)
    return extension_operators()[name] if found is None else found


def all_operators() -> dict[str, Operator]:
    """Every operator of the standard's language by name, in order of declaration."""
    return dict(_OPERATORS)


def extension_operators() -> dict[str, Operator]:
    """Every extension operator by name, in order of declaration."""
    _declare_extensions()
    return dict(_EXTENSIONS)


@cache
def _declare_extensions() -> None:
    """Import the extensions, which few graphs need."""
    importlib.import_module("basalt.ops.extension")
