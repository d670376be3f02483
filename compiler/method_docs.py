"""Docstrings of the builder's operator methods, put together from what the operators declare."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable

from basalt.ops import Operator
from basalt.ops.schema import MAX_RANK, REQUIRED, Operand, Option, Output
from basalt.ops.types import ANY

__all__ = ["docstring", "summary"]

STANDARD_URL = "https://www.w3.org/TR/webnn/"
_WIDTH = 100

_LABEL = "label: a name for messages, profiles and graph texts. Default ''."
_RAISES = (
    "ValidationError: for operands and options that the operator does not allow; the message names the operator, its "
    "label, its operands, what was given and what was expected.",
    "InvalidStateError: after build, and once the context is destroyed.",
)


def summary(operator: Operator) -> str:
    """The first paragraph of the operator's documentation, on one line."""
    return " ".join((inspect.getdoc(operator) or operator.name).split("\n\n")[0].split())


def docstring(operator: Operator) -> str:
    """The documentation of an operator's method: meaning, arguments, results, errors, source."""
    required = [_operand_text(o) for o in operator.operands if not o.optional]
    optional = [_operand_text(o) for o in operator.operands if o.optional]
    arguments = [_option_text(a) for a in operator.arguments]
    options = [_option_text(o) for o in operator.options]
    parts = [
        inspect.getdoc(operator) or operator.name,
        _section("Args", [*required, *arguments, *optional, *options, _LABEL]),
        _section("Returns", [_output_text(o) for o in operator.outputs]),
        _section("Raises", _RAISES),
    ]
    if operator.webnn:
        parts.append(f"Source: {operator.webnn} of the standard, {STANDARD_URL}#{operator.section}")
    return "\n\n".join(parts) + "\n"


def _section(title: str, entries: Iterable[str]) -> str:
    wrapped = (textwrap.fill(e, _WIDTH, initial_indent="    ", subsequent_indent=" " * 8) for e in entries)
    return "\n".join([f"{title}:", *wrapped])


def _operand_text(operand: Operand) -> str:
    note = "; optional" if operand.optional else "; a sequence" if operand.variadic else ""
    return f"{operand.name}: {_sentence(operand.doc, _limits(operand) + note)}"


def _output_text(output: Output) -> str:
    note = "; a tuple of them" if output.variadic else ""
    return f"{output.name}: {_sentence(output.doc, _limits(output) + note)}"


def _option_text(option: Option) -> str:
    default = "" if option.default is REQUIRED else f" Default {option.default!r}."
    return f"{option.name}: {option.doc}.{default}" if option.doc else f"{option.name}:{default or ' required.'}"


def _sentence(doc: str, limits: str) -> str:
    return f"{doc} ({limits})." if doc else f"{limits}."


def _limits(tensor: Operand | Output) -> str:
    dtypes = tensor.dtypes
    if isinstance(dtypes, str):
        types = f"data type of {dtypes}"
    else:
        types = "any data type" if dtypes == ANY else ", ".join(sorted(dtypes))
    return f"{types}; {_rank_text(tensor.rank)}"


def _rank_text(rank: tuple[int, int] | int | str) -> str:
    if isinstance(rank, str):
        return f"rank of {rank}"
    low, high = rank if isinstance(rank, tuple) else (rank, rank)
    if (low, high) == (0, MAX_RANK):
        return "any rank"
    return f"rank {low}" if low == high else f"rank {low} to {high}"
