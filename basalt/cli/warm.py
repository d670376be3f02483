"""``bslc cache warm``: compile what several models need, ahead of their first runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from basalt.cli.arguments import MODEL, shape_options
from basalt.cli.output import Progress, compiling, complain, json_option, print_json, print_table, seconds_text

if TYPE_CHECKING:
    from basalt.cli.models import Sizes
    from basalt.runtime.spec import ProgramSpec

__all__ = ["warm"]

Named = Sequence[tuple[str, Any]]


@dataclass
class _Warmed:
    """A model, and what came of it."""

    model: str
    compiled: int = 0
    found: int = 0
    seconds: float = 0.0
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    dims: dict[str, int] = field(default_factory=dict)
    error: str | None = None


@click.command()
@click.argument("models", type=MODEL, nargs=-1, required=True, metavar="MODEL...")
@shape_options
@json_option
@click.pass_context
def warm(
    context: click.Context,
    models: tuple[Path, ...],
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    dims: tuple[tuple[str, int], ...],
    as_json: bool,
) -> None:
    """Compile what the cache lacks for models.

    --shape and --dim count for every model that has an input or dimension of that name. A model that runs in several
    steps is run once, on random numbers. One that fails is told, the others are compiled all the same.
    """
    start = time.perf_counter()
    entries = [_Warmed(str(path)) for path in models]
    jobs = [_guarded(entry, partial(_planned, path, entry, shapes, dims)) for path, entry in zip(models, entries)]
    _check_used("--shape", "input", shapes, jobs, "shapes")
    _check_used("--dim", "symbolic dimension", dims, jobs, "dims")
    with compiling() as show:
        total = sum(job.kernels for job in jobs if job is not None)
        done = 0
        for job, entry in zip(jobs, entries):
            if job is not None:
                _guarded(entry, partial(job.run, entry, _shifted(show, done, total)))
                done += job.kernels
    _print(entries, time.perf_counter() - start, as_json)
    for entry in entries:
        if entry.error is not None:
            complain(f"error: {entry.model}: {entry.error.removeprefix(f'{entry.model}: ')}")
    if any(entry.error is not None for entry in entries):
        context.exit(1)


@dataclass(frozen=True)
class _Job:
    """A model's program, or None and the model if it runs in steps; names that it knows."""

    spec: ProgramSpec | None
    model: Any
    sizes: Sizes
    names: dict[str, set[str]]

    @property
    def kernels(self) -> int:
        from basalt.cli.machine_code import distinct

        return 0 if self.spec is None else len(distinct(self.spec))

    def run(self, entry: _Warmed, show: Progress) -> None:
        from basalt.cli import arrays, models
        from basalt.cli.machine_code import check_kept, compile_kernels

        start = time.perf_counter()
        if self.spec is None:
            feeds = arrays.random_feeds(self.model.inputs, self.sizes.shapes, 0)
            _, entry.compiled = models.compile_for(self.model, self.sizes.shapes, show, feeds)
        else:
            made = compile_kernels(self.spec, show)
            entry.compiled = sum(each.seconds is not None for each in made)
            entry.found = len(made) - entry.compiled
            check_kept(self.spec)
        entry.seconds = time.perf_counter() - start


def _planned(path: Path, entry: _Warmed, shapes: Named, dims: Named) -> _Job:
    import basalt
    from basalt.cli import models
    from basalt.cli.ahead.opening import source_of

    loaded = models.load_any(path, (), source_of(path, eager=False))
    inputs = {spec.name for spec in loaded.inputs}
    symbols = {d for spec in loaded.inputs for d in spec.shape if isinstance(d, str)}
    if isinstance(loaded, basalt.Executable):
        symbols = set(loaded.graph.symbols())
    mine = [pair for pair in shapes if pair[0] in inputs]
    sized = [pair for pair in dims if pair[0] in symbols]
    names = {"shapes": inputs, "dims": symbols}
    loaded = models.load_any(path, mine, loaded)
    if isinstance(loaded, basalt.Executable):
        sizes = models.resolve(loaded, mine, sized)
        job = _Job(models.plan(loaded, sizes), None, sizes, names)
    else:
        sizes = models.resolve_steps(loaded, mine, sized, {})
        job = _Job(None, loaded, sizes, names)
    entry.shapes, entry.dims = sizes.shapes, sizes.dims
    return job


def _guarded(entry: _Warmed, work: Callable[[], Any]) -> Any:
    """What ``work`` gives; None if the model cannot be used, of which ``entry`` then tells."""
    from basalt.errors import BasaltError

    try:
        return work()
    except click.UsageError:
        raise
    except (BasaltError, click.ClickException, OSError) as error:
        entry.error = error.format_message() if isinstance(error, click.ClickException) else str(error)
        return None


def _check_used(option: str, what: str, given: Named, jobs: Sequence[_Job | None], kind: str) -> None:
    """Refuse a name that no model has; one that could not be read may have had it."""
    if any(job is None for job in jobs):
        return
    known = sorted(set().union(*(job.names[kind] for job in jobs if job is not None)))
    unknown = [name for name, _ in given if name not in known]
    if unknown:
        raise click.UsageError(
            f"{option}: no model has {'an' if what[0] == 'i' else 'a'} {what} {unknown[0]!r}; "
            f"there are {', '.join(known) or 'none'}"
        )


def _shifted(show: Progress, before: int, total: int) -> Progress:
    return lambda done, _, seconds: show(before + done, max(total, before + done), seconds)


def _print(entries: Sequence[_Warmed], seconds: float, as_json: bool) -> None:
    from basalt.cli.models import shape_text
    from basalt.runtime.kernel_cache import cache_info

    folder = cache_info().folder
    if as_json:
        print_json({"cache": folder, "seconds": seconds, "models": [asdict(entry) for entry in entries]})
        return
    rows = [
        [
            entry.model,
            "failed" if entry.error else str(entry.compiled),
            "" if entry.error else str(entry.found),
            "" if entry.error else seconds_text(entry.seconds),
            ", ".join(f"{name}={shape_text(shape)}" for name, shape in entry.shapes.items()),
        ]
        for entry in entries
    ]
    print_table(["model", "compiled", "cached", "time", "for"], rows, right=["compiled", "cached", "time"])
    print(f"\n{sum(entry.compiled for entry in entries)} compiled in {seconds_text(seconds)} ({folder})")
