"""``bslc ops``: what operators there are and what each takes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from basalt.cli.completing import operator_names
from basalt.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from basalt.ops import Operator
    from basalt.ops.schema import Operand, Output

__all__ = ["ops"]


@click.command()
@click.argument("operator", required=False, shell_complete=operator_names)
@click.option("--onnx", is_flag=True, help="List ONNX's operators by domain, with the versions that are supported.")
@json_option
def ops(operator: str | None, onnx: bool, as_json: bool) -> None:
    """List the operators, or describe one OPERATOR in full.

    These are the builder's. ONNX operators are translated to them: --onnx lists those, or the one named OPERATOR.
    """
    from basalt.ops import all_operators

    if onnx:
        _print_onnx(operator, as_json)
        return

    table = all_operators()
    if operator is not None and operator not in table:
        raise click.UsageError(f"there is no operator {operator!r}; 'bslc ops' lists them")
    if as_json:
        chosen = table.values() if operator is None else [table[operator]]
        print_json([_description(entry) for entry in chosen])
    elif operator is None:
        rows = [_row(entry) for _, entry in sorted(table.items())]
        print_table(["operator", "WebNN", "operands", "options"], rows)
    else:
        _print_description(table[operator])


def _print_onnx(operator: str | None, as_json: bool) -> None:
    from basalt.compiler.onnx.tables import support

    entries = [entry for entry in support() if operator in (None, entry.name)]
    if not entries:
        raise click.UsageError(f"ONNX has no operator {operator!r}; 'bslc ops --onnx' lists them")
    if as_json:
        print_json([entry.as_dict() for entry in entries])
        return
    rows = [
        [e.domain or "ai.onnx", e.name, e.versions_text("compiled"), e.versions_text("host"), e.missing_text()]
        for e in entries
    ]
    print_table(["domain", "operator", "compiled at", "by the host at", "not supported at"], rows)


def _row(operator: Operator) -> list[str]:
    operands = ", ".join(f"[{o.name}]" if o.optional else o.name + "..." * o.variadic for o in operator.operands)
    options = ", ".join(o.name for o in (*operator.arguments, *operator.options))
    return [operator.name, operator.webnn or "", operands, options]


def _description(operator: Operator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "webnn": operator.webnn,
        "doc": inspect.getdoc(operator) or "",
        "operands": [_limits(o) | {"optional": o.optional} for o in operator.operands],
        "options": [
            {"name": o.name, "default": repr(o.default), "doc": o.doc} for o in (*operator.arguments, *operator.options)
        ],
        "outputs": [_limits(o) for o in operator.outputs],
    }


def _limits(tensor: Operand | Output) -> dict[str, Any]:
    """Data types and ranks; a name stands for those of the operand of that name."""
    dtypes = tensor.dtypes if isinstance(tensor.dtypes, str) else sorted(tensor.dtypes)
    rank = [tensor.rank, tensor.rank] if isinstance(tensor.rank, int) else tensor.rank
    return {"name": tensor.name, "dtypes": dtypes, "rank": rank, "variadic": tensor.variadic, "doc": tensor.doc}


def _print_description(operator: Operator) -> None:
    description = _description(operator)
    print(f"{description['name']}\n\n{description['doc']}\n")
    rows = [
        [
            kind,
            entry["name"] + "..." * entry["variadic"],
            _types_text(entry["dtypes"]),
            _rank_text(entry["rank"]),
            entry["doc"],
        ]
        for kind, entries in (("operand", description["operands"]), ("output", description["outputs"]))
        for entry in entries
    ]
    print_table(["", "name", "data types", "rank", ""], rows)
    if description["options"]:
        print()
        rows = [[option["name"], option["default"], option["doc"]] for option in description["options"]]
        print_table(["option", "default", ""], rows)


def _types_text(dtypes: str | list[str]) -> str:
    return f"as {dtypes}" if isinstance(dtypes, str) else ", ".join(dtypes)


def _rank_text(rank: str | list[int]) -> str:
    if isinstance(rank, str):
        return f"as {rank}"
    low, high = rank
    return str(low) if low == high else f"{low}-{high}"
