"""The builder's methods, one an operator, derived from the operators' declarations.

Type checkers and editors read ``operator_methods.pyi`` in this module's place, which :mod:`.stubs` writes from the same
declarations.
"""

from __future__ import annotations

from typing import Any

from basalt.ops import Operator, all_operators

from .method_factory import method_of

__all__ = ["OperatorMethods"]


class _Method:
    """Becomes the operator's method when it is first asked for: importing the builder makes none of the hundred."""

    __slots__ = ("_operator",)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        method = method_of(self._operator)
        setattr(OperatorMethods, self._operator.name, method)
        return method if instance is None else method.__get__(instance, owner)


class OperatorMethods:
    """The methods of every operator; a subclass implements ``_apply`` and ``_refuse_options``."""


for _name, _declared in all_operators().items():
    setattr(OperatorMethods, _name, _Method(_declared))
