"""The command group and the rules that hold for every command: errors, exit statuses, output.

Commands import what they need when they run, so that help and version come at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

import click

import basalt
from basalt.cli.arguments import help_if_alone
from basalt.cli.bench import bench_command
from basalt.cli.cache import cache
from basalt.cli.compare.command import compare_command
from basalt.cli.compile import compile_command
from basalt.cli.completion import COMPLETE_VARIABLE, completion, use_own_bash
from basalt.cli.export import export
from basalt.cli.ops import ops
from basalt.cli.output import complain
from basalt.cli.profile import profile_command
from basalt.cli.run import run_command
from basalt.cli.show import show
from basalt.errors import BasaltError

OK, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 130
BROKEN_PIPE = 141


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(basalt.__version__, "--version", message="bslc %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile neural-network models to machine code for this CPU, run and inspect them.

    A MODEL is a .bsl or .onnx file.
    """
    help_if_alone(context)


for command in (
    run_command,
    compile_command,
    profile_command,
    show,
    export,
    cache,
    ops,
    bench_command,
    compare_command,
    completion,
):
    cli.add_command(command)


def run(arguments: Sequence[str]) -> int:
    """Run one command line (without the program's name) and return the exit status."""
    _accept_any_character()
    warnings.showwarning = _warn  # type: ignore[assignment]
    try:
        if COMPLETE_VARIABLE in os.environ:
            use_own_bash()
        status = cli.main(list(arguments), prog_name="bslc", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        if "traceback" in os.environ.get("BASALT_DEBUG", "").split(","):
            raise
        return _status_of(error)
    return status if isinstance(status, int) else OK


def _accept_any_character() -> None:
    """Print what the terminal's encoding lacks as an escape instead of failing on it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _status_of(error: BaseException) -> int:
    """Say on stderr what went wrong, in one or two lines, and return the exit status for it."""
    match error:
        case BrokenPipeError():
            # The interpreter flushes stdout once more at exit, which must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        case KeyboardInterrupt() | click.Abort():
            complain("interrupted")
            return INTERRUPTED
        case SystemExit():
            raise error
        case click.UsageError():
            complain(f"error: {error.format_message()}")
            if error.ctx is not None:
                complain(f"See '{error.ctx.command_path} --help'.")
            return USAGE
        case click.ClickException():
            complain(f"error: {error.format_message()}")
        case BasaltError():
            complain(f"error: {error}")
        case MemoryError():
            complain(f"error: out of memory{f': {error}' if str(error) else ''}")
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            complain(f"error: {place}{error.strerror or error}")
        case _:
            complain(f"error: internal error: {type(error).__name__}: {error}")
            complain("This is a bug in Basalt; BASALT_DEBUG=traceback shows where it happened.")
    return FAILED


def _warn(message: Warning | str, *place: object) -> None:
    """Show a warning as the line that it is: where in the code it arose is of no use to a user."""
    print(f"warning: {message}", file=sys.stderr)
