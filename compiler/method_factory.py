"""Makes the builder's method of an operator from its declaration: a real signature, a docstring, a fast call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from basalt.ops import Dim, Operator
from basalt.ops.schema import REQUIRED, Option

from .method_docs import docstring
from .operand import MLOperand
from .option_types import annotation

__all__ = ["method_of", "returns_many", "signature_of"]

_POSITIONAL, _KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


class _Annotation(str):
    """An annotation that signatures show without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def returns_many(operator: Operator) -> bool:
    """Whether the method returns a tuple of operands, however many there are, and not one operand."""
    return len(operator.outputs) != 1 or operator.outputs[0].variadic


def signature_of(operator: Operator) -> inspect.Signature:
    """The method's signature: operands, arguments, and after them keyword-only optional operands, options and label."""
    parameters = [inspect.Parameter("self", _POSITIONAL)]
    for operand in operator.operands:
        if not operand.optional:
            kind = "Sequence[MLOperand]" if operand.variadic else "MLOperand"
            parameters.append(inspect.Parameter(operand.name, _POSITIONAL, annotation=_Annotation(kind)))
    parameters += [_parameter(option, _POSITIONAL) for option in operator.arguments]
    for operand in operator.operands:
        if operand.optional:
            kind = "MLOperand | None"
            parameters.append(inspect.Parameter(operand.name, _KEYWORD, default=None, annotation=_Annotation(kind)))
    parameters += [_parameter(option, _KEYWORD) for option in operator.options]
    parameters.append(inspect.Parameter("label", _KEYWORD, default="", annotation=_Annotation("str")))
    result = "tuple[MLOperand, ...]" if returns_many(operator) else "MLOperand"
    return inspect.Signature(parameters, return_annotation=_Annotation(result))


def _parameter(option: Option, kind: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if option.default is REQUIRED else option.default
    return inspect.Parameter(option.name, kind, default=default, annotation=_Annotation(annotation(option)))


def method_of(operator: Operator) -> Callable[..., Any]:
    """The builder method of an operator, which hands what it is given to the builder's ``_apply``."""
    signature = signature_of(operator)
    namespace: dict[str, Any] = {"_operator": operator, "MLOperand": MLOperand, "Sequence": Sequence, "Dim": Dim}
    exec(compile(_source(operator, signature, namespace), f"<builder method {operator.name}>", "exec"), namespace)
    method = namespace[operator.name]
    method.__qualname__ = f"MLGraphBuilder.{operator.name}"
    method.__module__ = "basalt.compiler.builder"
    method.__doc__ = docstring(operator)
    method.__annotations__ = {p.name: p.annotation for p in list(signature.parameters.values())[1:]}
    method.__annotations__["return"] = signature.return_annotation
    method.__signature__ = signature
    return method


def _source(operator: Operator, signature: inspect.Signature, namespace: dict[str, Any]) -> str:
    """A function with the signature's parameters and one more, for options that don't exist."""
    parts = []
    for parameter in signature.parameters.values():
        if parameter.kind is _KEYWORD and "*" not in parts:
            parts.append("*")
        if parameter.default is inspect.Parameter.empty:
            parts.append(parameter.name)
        else:
            namespace[f"_default_{parameter.name}"] = parameter.default
            parts.append(f"{parameter.name}=_default_{parameter.name}")
    operands = "".join(f"{o.name}, " for o in operator.operands)
    arguments = "".join(f"{a.name}, " for a in operator.arguments)
    options = ", ".join(f"{o.name!r}: {o.name}" for o in operator.options)
    return (
        f"def {operator.name}({', '.join(parts)}, **_unknown):\n"
        f"    if _unknown:\n"
        f"        self._refuse_options(_operator, _unknown, label)\n"
        f"    return self._apply(_operator, ({operands}), ({arguments}), {{{options}}}, label)\n"
    )
