"""Compiling a model into a file: the order of the work, and its progress."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import basalt
from basalt.cli import models
from basalt.cli.output import measuring, progress_bar
from basalt.compiler.ahead.build import compile_ahead, level_names
from basalt.compiler.ahead.source import source_parts
from basalt.compiler.ahead.weights import with_weights
from basalt.serialization.program.writing import save_program

from .opening import source_of
from .options import AheadOptions
from .report import LevelReport, Report, decides_by_values
from .signatures import Pairs, Wanted, note_assumed, wanted

if TYPE_CHECKING:
    from basalt.compiler.ahead.build import LevelProgress
    from basalt.compiler.executable import Executable
    from basalt.compiler.onnx.model import OnnxExecutable

__all__ = ["Sized", "Tuning", "compile_to_file"]

_NATIVE = "native"


@dataclass(frozen=True)
class Sized:
    """The options that decide sizes and values."""

    shapes: Pairs
    dims: Pairs
    inputs: Pairs
    seed: int


@dataclass(frozen=True)
class Tuning:
    """Whether to measure kernels first, and for how long at most."""

    wanted: bool
    seconds: float | None


def compile_to_file(path: Path, options: AheadOptions, sized: Sized, tuning: Tuning) -> Report:
    """Compile the model in ``path`` into the file that the options name, which appears once it is complete.

    Raises click.UsageError and click.ClickException for options that do not fit the model or each other, BasaltError
    for what cannot be compiled, OSError if the file cannot be written.
    """
    start = time.perf_counter()
    _check_output(path, options.output)
    levels = level_names(options.cpus or (_NATIVE,))
    if tuning.wanted and _NATIVE not in levels:
        raise click.UsageError("--tune measures on this machine, for which --cpu native compiles")
    loaded, weights = with_weights(source_of(path, eager=False), options.dtype)
    model = _runnable(path, loaded)
    direct = model if isinstance(model, basalt.Executable) else model.direct_executable()
    found = wanted(direct or model, sized.shapes, sized.dims, sized.inputs, options.archives)
    note_assumed(found)
    if tuning.wanted:
        _tune(direct, found, sized.seed, tuning.seconds)
    feeds = [] if direct else [each.feeds(model, sized.seed) for each in found]
    reports: list[LevelReport] = []
    with _level_bars(reports) as progress:
        parts = compile_ahead(
            model,
            [each.sizes.shapes for each in found] if direct else (),
            feeds=feeds,
            levels=levels,
            source=None if options.strip_source else source_parts(loaded),
            metadata={"name": model.name},
            progress=progress,
        )
    if feeds and decides_by_values(parts):
        _note_random(
            [name for spec in model.inputs for name in [spec.name] if any(name not in e.values for e in found)]
        )
    save_program(options.output, parts)
    sizes = [each.sizes for each in found]
    return Report.of(options.output, parts, sizes, reports, weights, time.perf_counter() - start)


def _check_output(model: Path, output: Path) -> None:
    if output.suffix.lower() != ".bsl":
        raise click.UsageError(f"--output: {str(output)!r} does not end in .bsl")
    if output.exists() and os.path.samefile(model, output):
        raise click.UsageError(f"--output: {str(output)!r} is MODEL itself")


def _runnable(path: Path, loaded: Any) -> Executable | OnnxExecutable:
    """What is compiled of a model: of an estimator the graph of all its methods."""
    model = loaded.executable() if isinstance(loaded, basalt.Estimator) else loaded
    if not isinstance(model, (basalt.Executable, basalt.OnnxExecutable)):
        raise click.ClickException(f"{path}: holds a {type(loaded).__name__}, expected a model")
    return model


def _tune(direct: Executable | None, found: Sequence[Wanted], seed: int, seconds: float | None) -> None:
    if direct is None:
        raise click.ClickException(
            "--tune: the model has several steps, which runs decide; only single graphs are tuned"
        )
    with measuring("tuning") as show:
        for each in found:
            if not direct.tune(each.feeds(direct, seed), seconds=seconds, progress=show).kept:
                raise click.ClickException("what was measured could not be kept in the cache")


def _note_random(names: Sequence[str]) -> None:
    if names:
        models.say(
            f"what the model computes depends on values; it was run on random ones for {', '.join(names)}, and the "
            f"file holds what that came to (--input and --shapes-from give others)"
        )


@contextmanager
def _level_bars(reports: list[LevelReport]) -> Iterator[LevelProgress]:
    """A bar for each level, one after another, and what they say when they are over."""
    began = time.perf_counter()
    with ExitStack() as stack:
        show: Any = None

        def progress(level: str, done: int, total: int, seconds: float) -> None:
            nonlocal show, began
            if not reports or reports[-1].level != level:
                if reports:
                    reports[-1].seconds = time.perf_counter() - began
                stack.close()
                began = time.perf_counter()
                reports.append(LevelReport(level))
                show = stack.enter_context(progress_bar(level))
            report = reports[-1]
            if seconds:
                report.compiled += 1
                report.compile_seconds += seconds
            report.kernels = total
            show(done, total or None, f"{done} of {total} kernels" if total else "planning")

        yield progress
    if reports:
        reports[-1].seconds = time.perf_counter() - began
