"""The table of translators: one function an overload of an ATen operator."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import AtenContext

__all__ = ["aten", "find", "names"]

Translator = Callable[..., Any]
"""Gets the context, then the operator's arguments as its schema orders them; returns a tensor or a tuple of them."""

_TRANSLATORS: dict[str, Translator] = {}


def aten(*overloads: str) -> Callable[[Translator], Translator]:
    """Declare a function as the translator of overloads such as ``add.Tensor`` of namespace aten.

    A name with a namespace of its own (``basalt::lstm.default``) is taken as it is.
    """

    def declare(function: Translator) -> Translator:
        for overload in overloads:
            name = overload if "::" in overload else f"aten::{overload}"
            if name in _TRANSLATORS:
                raise TypeError(f"{name} has two translators")
            _TRANSLATORS[name] = function
        return function

    return declare


def find(name: str) -> Callable[[AtenContext], Any] | None:
    """The translator of an overload by its full name (``aten::add.Tensor``), None if there is none."""
    _declare_all()
    # Operators that copy what others give as views give the same.
    return _TRANSLATORS.get(name) or _TRANSLATORS.get(name.replace("_copy.", "."))


def names() -> Iterable[str]:
    """All overloads that have a translator."""
    _declare_all()
    return _TRANSLATORS.keys()


@cache
def _declare_all() -> None:
    package = importlib.import_module(f"{__package__}.ops")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
