"""The table of operators: one instance of each declared class, by snake_case name."""

from __future__ import annotations

import inspect
from typing import TypeVar

from .schema import Operator

_T = TypeVar("_T", bound=Operator)

_OPERATORS: dict[str, Operator] = {}


def register(cls: type[_T]) -> type[_T]:
    """Class decorator: add an operator to the table.

    Raises:
        TypeError: for a class without a name, operands, shape rule or NumPy semantics, and for a name already taken.
    """
    if inspect.isabstract(cls):
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        raise TypeError(f"operator {cls.__name__} does not implement {', '.join(missing)}")
    for attribute in ("name", "operands"):
        if not hasattr(cls, attribute):
            raise TypeError(f"operator {cls.__name__} declares no {attribute}")
    if cls.name in _OPERATORS:
        raise TypeError(f"operator {cls.name} is declared twice")
    _OPERATORS[cls.name] = cls()
    return cls


def get(name: str) -> Operator:
    """The operator of a name.

    Raises:
        KeyError: for an unknown name.
    """
    return _OPERATORS[name]


def all_operators() -> dict[str, Operator]:
    """Every operator by name, in order of declaration."""
    return dict(_OPERATORS)
