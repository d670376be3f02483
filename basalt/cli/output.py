"""What commands print: tables, JSON, and progress on a terminal."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, TypeAlias

import click

__all__ = [
    "Progress",
    "compiling",
    "complain",
    "is_terminal",
    "json_option",
    "measuring",
    "note",
    "print_json",
    "print_table",
    "printable",
    "progress_bar",
    "seconds_text",
    "size_text",
]

Progress: TypeAlias = Callable[[int, int, float], None]
"""Takes the kernels that are ready, the kernels of the program, the seconds that the last one took."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[str] = ()) -> None:
    """Print rows under a heading, the columns named in ``right`` aligned right.

    In a pipe the text has no colours and lines are as long as their content.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    if sys.stdout.isatty():
        Console().print(table)
        return
    console = Console(width=1_000_000, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip())


def printable(text: str) -> str:
    """The text with escapes for control characters, which files and their names may hold; lines stay lines."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def print_json(value: Any) -> None:
    """Print ``value`` as indented JSON; NaN and infinities, which JSON lacks, as strings."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def note(message: str) -> None:
    """Print ``message`` to stderr if that is a terminal: what is of use to who waits, not to who reads a log."""
    if sys.stderr.isatty():
        print(message, file=sys.stderr)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at what is written, on a terminal that can do more than print lines."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def complain(message: str) -> None:
    """Print a line to stderr, red on a terminal unless NO_COLOR is set."""
    message = printable(message)
    coloured = is_terminal(sys.stderr) and not os.environ.get("NO_COLOR")
    # click.echo would write UTF-8 to a stream that asks for ASCII.
    print(click.style(message, fg="red") if coloured else message, file=sys.stderr)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float, float | None, str], None]]:
    """A bar on stderr, on a terminal only, as long as the block runs; with the time left.

    It is told what is done, of how much (None if that is not known), and the same as text.
    """
    if not is_terminal(sys.stderr):
        yield lambda done, total, count: None
        return
    from basalt.cli.bars import shown_bar

    with shown_bar(what) as show:
        yield show


@contextmanager
def compiling() -> Iterator[Progress]:
    """What a compilation is to report to while the block runs, which shows it on stderr, on a terminal only."""
    with progress_bar("compiling") as show:
        yield lambda done, total, seconds: show(done, total, f"{done} of {total} kernels")


@contextmanager
def measuring(what: str) -> Iterator[Callable[[int, int], None]]:
    """Shows on stderr, on a terminal only, what is being done while the block runs, and how many of how many parts."""
    with progress_bar(what) as show:
        yield lambda done, total: show(done, total, f"{done} of {total}")


def size_text(size: int) -> str:
    """A number of bytes for people: ``812 B``, ``1.4 MB`` (1 MB is 1,000,000 bytes)."""
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1e3, "kB"
    for larger in ("MB", "GB"):
        if value >= 999.95:
            value, unit = value / 1e3, larger
    return f"{value:.1f} {unit}"


def seconds_text(seconds: float) -> str:
    """A time for people: ``830 us``, ``12.4 ms``, ``1.27 s``."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
