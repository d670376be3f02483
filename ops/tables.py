"""The operator reference in Markdown, from the declarations: ``python -m basalt.ops.tables > docs/operators.md``."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence

from .registry import all_operators, extension_operators
from .schema import REQUIRED, Operand, Operator, Option, Output
from .types import ANY, WEBNN_TYPES

_HEAD = """\
# Operators

Written by `python -m basalt.ops.tables` from the declarations in `ops/`; do not edit.

Each operator is a method of `MLGraphBuilder`: operands first, then arguments, then options by keyword, and `label=` to
name the node in messages. Names are those of the WebNN standard in snake_case. "any" stands for every data type of the
standard, which are {types}.
"""


_EXTENSIONS = """\
# Extension operators

What other formats (ONNX above all) can say and the standard cannot. Graphs that are imported hold them; an
`MLGraphBuilder(context, extended=True)` offers them as methods.
"""


def render() -> str:
    """The whole reference."""
    own, extensions = all_operators(), extension_operators()
    head = _HEAD.format(types=", ".join(WEBNN_TYPES))
    return "\n".join([head, *_chapter(own.values()), _EXTENSIONS, *_chapter(extensions.values())])


def _chapter(operators: Iterable[Operator]) -> Iterable[str]:
    ordered = sorted(operators, key=lambda o: o.name)
    yield from _table(("operator", "computes"), ((f"[{o.name}](#{o.name})", _summary(o)) for o in ordered))
    yield ""
    for operator in ordered:
        yield from _section(operator)


def signature(operator: Operator) -> str:
    """``gather(input, indices, *, axis=0)``."""
    positional = [o.name for o in operator.operands if not o.optional] + [o.name for o in operator.arguments]
    keywords = [f"{o.name}=None" for o in operator.operands if o.optional]
    keywords += [f"{o.name}={o.default!r}" for o in operator.options]
    return f"{operator.name}({', '.join(positional + (['*'] if keywords else []) + keywords)})"


def _summary(operator: Operator) -> str:
    return _doc(operator).split("\n\n")[0].replace("\n", " ").replace("``", "`")


def _section(operator: Operator) -> Iterable[str]:
    yield f"## {operator.name}"
    yield ""
    yield f"`{signature(operator)}`" + (f", `{operator.webnn}()` of the standard" if operator.webnn else "")
    yield ""
    yield _doc(operator).replace("``", "`")
    yield ""
    values: Sequence[Operand | Output] = (*operator.operands, *operator.outputs)
    yield from _table(("operand", "data types", "ranks", ""), (_operand_row(v) for v in values))
    yield ""
    options = operator.arguments + operator.options
    if options:
        yield from _table(("option", "default", ""), (_option_row(o) for o in options))
        yield ""


def _operand_row(value: Operand | Output) -> tuple[str, ...]:
    name = f"*{value.name}*" if isinstance(value, Output) else f"`{value.name}`"
    return name, _types(value.dtypes), _ranks(value.rank), value.doc.replace("``", "`")


def _option_row(option: Option) -> tuple[str, ...]:
    default = "required" if option.default is REQUIRED else f"`{option.default!r}`"
    return f"`{option.name}`", default, option.doc.replace("``", "`")


def _types(dtypes: frozenset[str] | str) -> str:
    if isinstance(dtypes, str):
        return f"as `{dtypes}`"
    if dtypes == ANY:
        return "any"
    return ", ".join([d for d in WEBNN_TYPES if d in dtypes] + sorted(dtypes - set(WEBNN_TYPES)))


def _ranks(rank: tuple[int, int] | int | str) -> str:
    if isinstance(rank, str):
        return f"as `{rank}`"
    return str(rank) if isinstance(rank, int) else f"{rank[0]} to {rank[1]}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _doc(operator: Operator) -> str:
    return inspect.cleandoc(operator.__doc__ or "")


if __name__ == "__main__":
    print(render(), end="")
