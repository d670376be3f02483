"""The options of ``bslc run`` that say of which rows and how; what they mean is in :mod:`basalt.cli.rows`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from basalt.cli.arguments import MODEL
from basalt.cli.completing import METHODS, one_of

__all__ = ["RowOptions", "row_options"]

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])
_TAB = ("\\t", "tab")


class Delimiter(click.ParamType):
    """One character that separates cells; ``tab`` stands for a tab."""

    name = "CHARACTER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        found = "\t" if value in _TAB else str(value)
        if len(found) != 1 or not found.isascii() or found.isalnum() or found in '"\r\n.+-\0':
            self.fail(f"{value!r}: expected one character that numbers do not have, or 'tab'", param, ctx)
        return found


@dataclass(frozen=True)
class RowOptions:
    """What the command line says of rows.

    One of ``csv`` and ``parquet`` is given, or neither where there are no rows.
    """

    csv: Path | None
    parquet: Path | None
    method: str | None
    delimiter: str
    has_header: bool
    output: Path | None

    @staticmethod
    def of(parameters: Mapping[str, Any]) -> RowOptions | None:
        """The options among a command's parameters, None if there are no rows.

        Raises click.UsageError for options that do not go together.
        """
        csv, parquet, method = parameters["csv"], parameters["parquet"], parameters["method"]
        of_csv = {"--delimiter": parameters["delimiter"] is not None, "--no-header": parameters["no_header"]}
        if csv is None and parquet is None:
            _refuse({"--method": method is not None, **of_csv}, "needs --csv or --parquet")
            return None
        _refuse({"--parquet": csv is not None and parquet is not None}, "does not go with --csv")
        _refuse(of_csv if csv is None else {}, "needs --csv")
        names = {"--input": "inputs", "--random": "fill", "--shape": "shapes", "--dim": "dims", "--json": "as_json"}
        names["--shapes-from"] = "shapes_from"
        names |= {"--trust": "trust", "--keys": "keys"}
        _refuse({option: bool(parameters[n]) for option, n in names.items()}, "does not go with --csv or --parquet")
        has_header = not parameters["no_header"]
        return RowOptions(csv, parquet, method, parameters["delimiter"] or ",", has_header, parameters["output"])


def _refuse(given: Mapping[str, bool], why: str) -> None:
    found = [option for option, is_given in given.items() if is_given]
    if found:
        raise click.UsageError(f"{found[0]} {why}")


def row_options(command: _Decorated) -> _Decorated:
    """Give a command the options of rows, which :meth:`RowOptions.of` reads."""
    for option in reversed(
        (
            click.option("--csv", type=MODEL, metavar="FILE", help="Give the model the rows of a CSV file."),
            click.option("--parquet", type=MODEL, metavar="FILE", help="Give the model the rows of a Parquet file."),
            click.option(
                "--method",
                metavar="NAME",
                shell_complete=one_of(METHODS),
                help="Which results of rows: a method of an estimator, an output of a graph.  [default: predict, or "
                "else transform; the only output]",
            ),
            click.option(
                "--delimiter",
                type=Delimiter(),
                shell_complete=one_of(["tab"]),
                help="What separates columns of CSV files.  [default: ,]",
            ),
            click.option("--no-header", is_flag=True, help="The CSV file's first line is a row."),
        )
    ):
        command = option(command)
    return command
