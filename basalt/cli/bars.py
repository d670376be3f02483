"""Bars on a terminal. Imported only where one is shown: it takes a tenth of a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

__all__ = ["shown_bar"]


class _Left(ProgressColumn):
    """The time that the rest will take at the speed of what was done last; empty while nobody can know."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        seconds = task.time_remaining
        if seconds is None or task.finished or not task.completed:
            return Text("")
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
        return Text(f"{clock} left", style="progress.remaining")


@contextmanager
def shown_bar(what: str) -> Iterator[Callable[[float, float | None, str], None]]:
    """A bar on stderr for as long as the block runs: it takes what is done, of how much, and that as text."""
    columns = (
        SpinnerColumn(),
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        _Left(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, count="")

        def show(done: float, total: float | None, count: str) -> None:
            bar.update(task, completed=done, total=total, count=count)

        yield show
