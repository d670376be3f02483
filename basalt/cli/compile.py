"""``bslc compile``: put a model's machine code into the cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from basalt.cli.arguments import model_argument, random_input_option, random_seed_option, shape_options
from basalt.cli.output import compiling, json_option, measuring, print_json, print_table, seconds_text

if TYPE_CHECKING:
    from basalt.cli.models import Sizes
    from basalt.compiler.executable import Executable
    from basalt.compiler.tuning.report import TuningReport
    from basalt.runtime.cache_files import KernelKey
    from basalt.runtime.spec import KernelCode, ProgramSpec

__all__ = ["compile_command"]

LONGEST = 60
"""Characters of a kernel's or operators' names in the table; a fused kernel may have hundreds."""


@dataclass(frozen=True)
class Compiled:
    """One piece of machine code: what it computes, the seconds that compiling took (None: it was in the cache)."""

    what: str
    seconds: float | None
    calls: int
    operators: str


@click.command("compile")
@model_argument
@shape_options
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
) -> None:
    """Compile MODEL's kernels into the cache.

    Later runs for the same sizes, in any process, then need no compiler. The table tells for each kernel what it
    computes, how long compiling it took or that it was in the cache, and how many calls of it the model makes.

    With --tune, the model is run first, on the given inputs or random ones, with other kernels than those that are
    estimated to be the fastest. Those that are faster are remembered in the cache, for all models that hold an equal
    operator. Run it on a machine that does nothing else.
    """
    from basalt.cli import feeding, models

    start = time.perf_counter()
    if not tune and (inputs or tune_seconds is not None or threads is not None):
        raise click.UsageError("--input, --threads and --tune-seconds say how to tune; give --tune too")
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
    entries = _compile(spec)
    _check_kept(spec)
    _print(sizes, entries, report, time.perf_counter() - start, as_json)


def _tune(model: Executable, feeds: dict[str, Any], seconds: float | None) -> TuningReport:
    with measuring("tuning") as show:
        report = model.tune(feeds, seconds=seconds, progress=show)
    if not report.kept:
        raise click.ClickException("what was measured could not be kept in the cache")
    return report


def _compile(spec: ProgramSpec) -> list[Compiled]:
    """Compile what the cache lacks: the executor, which all programs share, and the program's kernels."""
    from basalt.compiler.codegen.compile import load_executor, load_kernels
    from basalt.compiler.codegen.fingerprint import executor_key, kernel_key

    absent = [code.key for code in _distinct(spec) if not _has(kernel_key(code))]
    took: list[float] = []
    executor_is_absent = not _has(executor_key())
    with compiling() as show:
        show(0, len(_distinct(spec)), 0.0)
        start = time.perf_counter()
        load_executor()
        executor_seconds = time.perf_counter() - start
        load_kernels(spec.kernels, _recording(took, show))
    seconds = dict(zip(absent, took))
    entries = [Compiled("executor", executor_seconds if executor_is_absent else None, 0, "")]
    for code in _distinct(spec):
        rows = [row for row in spec.rows if spec.kernels[row.kernel].key == code.key]
        operators = ", ".join(dict.fromkeys(row.label for row in rows if row.label))
        entries.append(Compiled(code.label or "unnamed", seconds.get(code.key), len(rows), operators))
    return entries


def _distinct(spec: ProgramSpec) -> list[KernelCode]:
    return list({code.key: code for code in spec.kernels}.values())


def _has(key: KernelKey) -> bool:
    from basalt.runtime.kernel_cache import CACHE

    return CACHE.has(key)


def _recording(took: list[float], show: Callable[[int, int, float], None]) -> Callable[[int, int, float], None]:
    def record(done: int, total: int, seconds: float) -> None:
        took.append(seconds)
        show(done, total, seconds)

    return record


def _check_kept(spec: ProgramSpec) -> None:
    """Compiling ahead is of no use if the files could not be written, of which the cache itself only warns."""
    from basalt.compiler.codegen.fingerprint import executor_key, kernel_key
    from basalt.runtime.kernel_cache import CACHE

    keys = [executor_key(), *map(kernel_key, spec.kernels)]
    lost = sum(CACHE.folder.read(key.name) is None for key in keys)
    if lost:
        place = "no folder" if CACHE.folder.path is None else str(CACHE.folder.path)
        raise click.ClickException(f"{lost} of {len(keys)} kernels could not be kept in the cache ({place})")


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
