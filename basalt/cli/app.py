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
from basalt.cli.completion import COMPLETE_VARIABLE, complete, completion
from basalt.cli.export import export
from basalt.cli.ops import ops
from basalt.cli.output import complain
from basalt.cli.profile import profile_command
from basalt.cli.run import run_command
from basalt.cli.show import show
from basalt.cli.sign import sign
from basalt.cli.streams import discard_output, is_closed_output, prepare_streams
from basalt.cli.verify import verify
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
    sign,
    verify,
    completion,
):
    cli.add_command(command)


def run(arguments: Sequence[str]) -> int:
    """Run one command line (without the program's name) and return the exit status."""
    prepare_streams()
    warnings.showwarning = _warn  # type: ignore[assignment]
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except BaseException as error:
        if "traceback" in os.environ.get("BASALT_DEBUG", "").split(","):
            raise
        status = _status_of(error, arguments)
        discard_output()
    return status


def _invoke(arguments: Sequence[str]) -> int:
    """What click's own entry point does, which makes a status of its own of a closed pipe."""
    asked = os.environ.get(COMPLETE_VARIABLE)
    if asked:
        return complete(cli, asked)
    try:
        with cli.make_context("bslc", list(arguments)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return OK


def _status_of(error: BaseException, arguments: Sequence[str]) -> int:
    """Say on stderr what went wrong, in one or two lines, and return the exit status for it."""
    match error:
        case BrokenPipeError():
            return BROKEN_PIPE
        case KeyboardInterrupt() | click.Abort():
            if sys.stderr.isatty():
                # The terminal shows ^C where the cursor stands.
                print(file=sys.stderr)
            complain("interrupted")
            return INTERRUPTED
        case SystemExit():
            raise error
        case click.UsageError():
            # click lists what may be given for a missing argument in lines of their own.
            is_list = isinstance(error, click.MissingParameter)
            complain(f"error: {' '.join(error.format_message().split()) if is_list else error.format_message()}")
            complain(f"See '{_command_path(arguments) if error.ctx is None else error.ctx.command_path} --help'.")
            return USAGE
        case click.ClickException():
            complain(f"error: {error.format_message()}")
        case BasaltError():
            complain(f"error: {error}")
        case MemoryError():
            complain(f"error: out of memory{f': {error}' if str(error) else ''}")
        case OSError() if is_closed_output(error):
            complain("error: stdout is closed")
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            complain(f"error: {place}{error.strerror or error}")
        case _:
            complain(f"error: internal error: {type(error).__name__}: {error}")
            complain("This is a bug in Basalt; BASALT_DEBUG=traceback shows where it happened.")
    return FAILED


def _command_path(arguments: Sequence[str]) -> str:
    """The command that is meant, for errors that do not know it: an option without its argument, for one."""
    path, group = "bslc", cli
    for argument in arguments:
        command = group.commands.get(argument)
        if command is None:
            break
        path += f" {argument}"
        if not isinstance(command, click.Group):
            break
        group = command
    return path


def _warn(message: Warning | str, category: type[Warning], *place: object) -> None:
    """Show a warning as the line that it is: where in the code it arose is of no use to a user."""
    word = "note" if category.__name__ == "NativeCodeWarning" else "warning"
    print(f"{word}: {message}", file=sys.stderr)
