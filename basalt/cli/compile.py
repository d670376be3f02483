"""``bslc compile``: put a model's machine code into the cache, or into a file."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from basalt.cli.ahead.options import AheadOptions, ahead_options
from basalt.cli.arguments import ARRAYS_FILE, model_argument, random_input_option, random_seed_option, size_options
from basalt.cli.output import compiling, json_option, measuring, print_json, print_table, seconds_text

if TYPE_CHECKING:
    from basalt.cli.machine_code import Compiled
    from basalt.cli.models import Sizes
    from basalt.compiler.executable import Executable
    from basalt.compiler.tuning.report import TuningReport

__all__ = ["compile_command"]

LONGEST = 60
"""Characters of a kernel's or operators' names in the table; a fused kernel may have hundreds."""


@click.command("compile")
@model_argument
@ahead_options
@size_options
@click.option("--tune", is_flag=True, help="Measure other kernels than the estimated best ones, and keep the faster.")
@click.option("--tune-seconds", type=click.FloatRange(min=0), metavar="S", help="Begin no trial after so long.")
@random_input_option
@random_seed_option
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads to tune for.  [default: one a core]")
@json_option
def compile_command(
    model: Path,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    dims: tuple[tuple[str, int], ...],
    tune: bool,
    tune_seconds: float | None,
    inputs: tuple[tuple[str | None, Path], ...],
    seed: int,
    threads: int | None,
    as_json: bool,
    **_of_file: Any,
) -> None:
    """Compile MODEL's kernels into the cache, or with -o into a file.

    Later runs for the same sizes, in any process, then need no compiler. The table tells for each kernel what it
    computes, how long compiling it took or that it was in the cache, and how many calls of it the model makes.

    With --tune, the model is run first, on the given inputs or random ones, with other kernels than those that are
    estimated to be the fastest. Those that are faster are remembered in the cache, for all models that hold an equal
    operator. Run it on a machine that does nothing else.

    With -o, a file is written that starts in milliseconds and needs no compiler: machine code for the CPUs of --cpu,
    weights, and the model itself, of which programs for other sizes can be compiled later. --shape and --dim may be
    given several times for the same name: the first of each belong together and make one program, the second another.
    """
    from basalt.cli import feeding, models
    from basalt.cli.machine_code import check_kept, compile_kernels

    start = time.perf_counter()
    ahead = AheadOptions.of(click.get_current_context().params)
    _check_tuning(tune, tune_seconds, (bool(inputs) or threads is not None) and ahead is None)
    if ahead is not None:
        from basalt.cli.ahead.command import Sized, Tuning, compile_to_file

        if threads is not None:
            models.set_threads(threads)
        compile_to_file(model, ahead, Sized(shapes, dims, inputs, seed), Tuning(tune, tune_seconds)).print(as_json)
        return
    shapes = (*shapes, *_shapes_of_file())
    loaded = models.load(model, shapes)
    report = None
    if tune:
        feeds, sizes = feeding.feeds_and_sizes(loaded, feeding.input_files(loaded, inputs), shapes, dims, seed)
        if threads is not None:
            models.set_threads(threads)
        report = _tune(loaded, feeds, tune_seconds)
    else:
        sizes = models.resolve(loaded, shapes, dims)
        sizes.note()
    spec = models.plan(loaded, sizes)
    with compiling() as show:
        entries = compile_kernels(spec, show)
    check_kept(spec)
    _print(sizes, entries, report, time.perf_counter() - start, as_json)


def _shapes_of_file() -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The shapes in the file of ``--shapes-from``; there are several only where each makes a program in a file."""
    context = click.get_current_context()
    paths = context.params["archives"]
    if len(paths) > 1:
        raise click.UsageError(
            "--shapes-from is given more than once; that makes several programs, which need -o OUT.bsl"
        )
    found: tuple[tuple[str, tuple[int, ...]], ...] = ARRAYS_FILE.convert(str(paths[0]), None, context) if paths else ()
    return found


def _check_tuning(tune: bool, seconds: float | None, others: bool) -> None:
    if not tune and (others or seconds is not None):
        raise click.UsageError("--input, --threads and --tune-seconds say how to tune; give --tune too")


def _tune(model: Executable, feeds: dict[str, Any], seconds: float | None) -> TuningReport:
    with measuring("tuning") as show:
        report = model.tune(feeds, seconds=seconds, progress=show)
    if not report.kept:
        raise click.ClickException("what was measured could not be kept in the cache")
    return report


def _print(sizes: Sizes, entries: list[Compiled], tuned: TuningReport | None, seconds: float, as_json: bool) -> None:
    from basalt.runtime.kernel_cache import cache_info

    compiled = [entry.seconds for entry in entries if entry.seconds is not None]
    found = len(entries) - len(compiled)
    folder = cache_info().folder
    if as_json:
        report: dict[str, Any] = {"shapes": sizes.shapes, "dims": sizes.dims, "seconds": seconds, "cache": folder}
        counts: dict[str, Any] = {"compiled": len(compiled), "found": found, "compile_seconds": sum(compiled)}
        if tuned is not None:
            changed = [change._asdict() for change in tuned.changed]
            counts |= {"tuning": {"trials": tuned.trials, "seconds": tuned.seconds, "changed": changed}}
        print_json(report | counts | {"kernels": [asdict(entry) for entry in entries]})
        return
    if tuned is not None:
        _print_tuned(tuned)
    rows = [
        [_short(entry.what), _code_text(entry.seconds), str(entry.calls or ""), _short(entry.operators)]
        for entry in entries
    ]
    print_table(["kernel", "code", "calls", "operators"], rows, right=["code", "calls"])
    dims = ", ".join(f"{name} = {size}" for name, size in sizes.dims.items())
    took = f" in {seconds_text(sum(compiled))}" if compiled else ""
    print(f"\n{len(compiled)} compiled{took}, {found} found in the cache ({folder})")
    print(f"{seconds_text(seconds)} in all{f', for {dims}' if dims else ''}")


def _print_tuned(report: TuningReport) -> None:
    """What is chosen otherwise now, and the time that it saves."""
    rows = [
        [_short(c.kernel), seconds_text(c.before), seconds_text(c.after), _short(c.label)]
        for c in sorted(report.changed, key=lambda c: c.after - c.before)
    ]
    if rows:
        print_table(["tuned", "before", "after", "operators"], rows, right=["before", "after"])
    saved = sum(c.before - c.after for c in report.changed)
    found = f"{len(rows)} kernels chosen otherwise save {seconds_text(saved)} a run" if rows else "nothing was faster"
    print(f"{report.trials} trials in {seconds_text(report.seconds)}: {found}\n")


def _code_text(seconds: float | None) -> str:
    return "cached" if seconds is None else seconds_text(seconds)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
