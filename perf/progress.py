"""Progress on a terminal: a bar over the cases of a run; nothing in a pipe but what was asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Tick", "progress"]

Tick = Callable[[str, bool], None]
"""Takes what is being done, and whether a case has just been finished."""


@contextmanager
def progress(cases: int) -> Iterator[Tick]:
    """What the block is to report to, which shows it on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda what, finished: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=cases)

        def tick(what: str, finished: bool) -> None:
            bar.update(task, description=what, advance=int(finished))

        yield tick
