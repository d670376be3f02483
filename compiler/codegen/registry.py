"""The table of templates: which function turns a node of an operator into kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ir import Node
    from .lowering import Lowering

Template = Callable[["Node", "Lowering"], None]

_TEMPLATES: dict[str, Template] = {}
_WITH_EPILOGUE: set[str] = set()


def template(*operators: str, epilogue: bool = False) -> Callable[[Template], Template]:
    """Declare the template of some operators.

    A template is called with the node and the :class:`~.lowering.Lowering`; it asks for views of the operands and the
    results and adds kernel calls, or binds results to views. With ``epilogue`` it accepts fused nodes whose root it is,
    and applies ``lowering.epilogue(node)`` to each element before storing.
    """

    def declare(function: Template) -> Template:
        for name in operators:
            if name in _TEMPLATES:
                raise TypeError(f"operator {name} has two templates")
            _TEMPLATES[name] = function
            if epilogue:
                _WITH_EPILOGUE.add(name)
        return function

    return declare


def find(operator: str) -> Template | None:
    """The template of an operator, None if it has none."""
    _declare_all()
    return _TEMPLATES.get(operator)


def takes_epilogue(operator: str) -> bool:
    """Whether element-wise operators that follow may be fused into this one's kernel."""
    _declare_all()
    return operator in _WITH_EPILOGUE


@cache
def _declare_all() -> None:
    """Import the templates, which import this module to declare themselves."""
    importlib.import_module("basalt.compiler.templates")
