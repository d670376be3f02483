"""The table of exporters: one function a core operator."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from .node import NodeWriter
    from .tensor import Tensor

__all__ = ["Exporter", "exporter", "exporters", "exports"]

Exporter = Callable[["NodeWriter"], "Tensor | Sequence[Tensor]"]
_Function = TypeVar("_Function", bound=Exporter)

_EXPORTERS: dict[str, Exporter] = {}


def exports(*operators: str) -> Callable[[_Function], _Function]:
    """Decorator: the function writes these core operators and returns the tensors of their outputs.

    Raises:
        TypeError: for an operator that has an exporter.
    """

    def add(function: _Function) -> _Function:
        for operator in operators:
            if operator in _EXPORTERS:
                raise TypeError(f"operator {operator} has two exporters")
            _EXPORTERS[operator] = function
        return function

    return add


def exporter(operator: str) -> Exporter | None:
    """The function that writes an operator, None for one that ONNX cannot say."""
    return exporters().get(operator)


@cache
def exporters() -> dict[str, Exporter]:
    """All of them, by the core operator's name."""
    from . import ops

    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")
    return _EXPORTERS
