"""Options of compiling into a file, and of trusting the machine code in one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from basalt.cli.arguments import MODEL, OUTPUT_FILE

__all__ = ["AheadOptions", "ahead_options", "keys_option", "trust_options"]

_NAMES = ("native", "v2", "v3", "v4")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


class Cpus(click.ParamType):
    """CPUs separated by commas: ``native``, ``v3`` or ``x86-64-v3``."""

    name = "native,v3,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        names = tuple(name.strip().removeprefix("x86-64-") for name in value.split(","))
        for name in names:
            if name not in _NAMES:
                self.fail(f"{value!r}: there is no CPU {name!r}, expected some of {', '.join(_NAMES)}", param, ctx)
        return names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, beginning = incomplete.rpartition(",")
        given = before.split(",")
        return [CompletionItem(before + comma + n) for n in _NAMES if n.startswith(beginning) and n not in given]


class AheadOptions(NamedTuple):
    """What ``bslc compile -o`` makes: ``cpus`` without a value given is None."""

    output: Path
    archives: tuple[Path, ...]
    cpus: tuple[str, ...] | None
    dtype: str
    strip_source: bool

    @staticmethod
    def of(params: dict[str, Any]) -> AheadOptions | None:
        """The options that were given, None if nothing is to be written.

        Raises click.UsageError for options that are about a file which is not to be written.
        """
        if params["output"] is not None:
            dtype = params["dtype"] or "float32"
            return AheadOptions(params["output"], params["archives"], params["cpus"], dtype, params["strip_source"])
        for name, option in (
            ("cpus", "--cpu"),
            ("strip_source", "--strip-source"),
            ("dtype", "--dtype"),
        ):
            if params[name]:
                raise click.UsageError(f"{option} is about the file that --output names; give -o OUT.bsl too")
        return None


def ahead_options(command: _Decorated) -> _Decorated:
    """Give a command the options of :class:`AheadOptions`, and ``dtype``."""
    for option in reversed(
        (
            click.option(
                "-o",
                "--output",
                type=OUTPUT_FILE,
                metavar="OUT.bsl",
                help="Write the programs to this file, instead of kernels into the cache.",
            ),
            click.option(
                "--shapes-from",
                "archives",
                type=MODEL,
                metavar="FILE.npz",
                multiple=True,
                help="Inputs, named like the model's: compile for their shapes, and for what their values decide.",
            ),
            click.option(
                "--cpu",
                "cpus",
                type=Cpus(),
                metavar=Cpus.name,
                help="CPUs to compile for: this one, or levels of x86-64.  [default: native]",
            ),
            click.option("--strip-source", is_flag=True, help="Leave the model itself out of the file."),
            click.option(
                "--dtype",
                type=click.Choice(["float32", "float16", "bfloat16"]),
                help="What float32 weights are stored as; all is computed in float32.  [default: float32]",
            ),
        )
    ):
        command = option(command)
    return command


keys_option = click.option(
    "--keys", type=MODEL, metavar="FILE", help="Public keys to trust, in place of the user's own file of them."
)
_trust_option = click.option(
    "--trust", is_flag=True, help="Run the machine code in MODEL, which can do anything: you know where it is from."
)


def trust_options(command: _Decorated) -> _Decorated:
    """Give a command ``--trust`` and ``--keys``."""
    return _trust_option(keys_option(command))
