"""Writes ``operator_methods.pyi``, from which type checkers and editors know the builder's methods.

``python -m basalt.compiler.stubs`` writes the file; a test keeps it in step with the operators.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from basalt.ops import Operator, all_operators

from .method_docs import summary
from .method_factory import signature_of

__all__ = ["STUB", "stub_text"]

STUB = Path(__file__).with_name("operator_methods.pyi")

_LINE = 120
_HEAD = """\
# Written by `python -m basalt.compiler.stubs` from the operators' declarations; not to be edited.

from collections.abc import Sequence

from basalt.ops import Dim

from .operand import MLOperand

class OperatorMethods:
"""


def stub_text() -> str:
    """The stub file's text."""
    return _HEAD + "".join(_method(operator) for operator in all_operators().values())


def _method(operator: Operator) -> str:
    """One method, laid out as the formatter would."""
    signature = signature_of(operator)
    parts = []
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    end = f") -> {signature.return_annotation}:"
    head = f"    def {operator.name}({', '.join(parts)}{end}"
    if len(head) > _LINE:
        inner = f"        {', '.join(parts)}"
        if len(inner) > _LINE:
            inner = "\n".join(f"        {part}," for part in parts)
        head = f"    def {operator.name}(\n{inner}\n    {end}"
    return f'{head}\n        """{_doc(operator)}"""\n'


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.annotation is inspect.Parameter.empty:
        return parameter.name
    default = "" if parameter.default is inspect.Parameter.empty else f" = {_default(parameter.default)}"
    return f"{parameter.name}: {parameter.annotation}{default}"


def _default(value: object) -> str:
    """A default as the formatter quotes it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _doc(operator: Operator) -> str:
    text = summary(operator).replace("\\", "\\\\")
    room = _LINE - len('        """"""')
    return text if len(text) <= room else text[: room - 3].rstrip() + "..."


if __name__ == "__main__":
    STUB.write_text(stub_text(), encoding="utf-8")
