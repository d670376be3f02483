"""``bslc profile``: where a model's time goes, kernel by kernel, and how near each comes to the machine's limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import basalt
from basalt.cli.ahead.options import trust_options
from basalt.cli.arguments import (
    OUTPUT_FILE,
    model_argument,
    random_input_option,
    random_seed_option,
    shape_options,
    threads_option,
)
from basalt.cli.output import compiling, json_option, measuring, print_json, print_table, seconds_text

if TYPE_CHECKING:
    from basalt.compiler.executable import Executable
    from basalt.compiler.peaks import Peaks
    from basalt.runtime.profile import RowTime
    from basalt.runtime.program import Program

__all__ = ["profile_command"]

_LABEL = 48


@click.command("profile")
@model_argument
@random_input_option
@shape_options
@threads_option
@click.option("--repeats", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="Runs.")
@random_seed_option
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Print only the N rows that take longest.")
@click.option(
    "--trace",
    type=OUTPUT_FILE,
    metavar="FILE.json",
    help="Also write the rows as a trace that ui.perfetto.dev and chrome://tracing open.",
)
@trust_options
@json_option
def profile_command(
    model: Path,
    inputs: tuple[tuple[str | None, Path], ...],
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    dims: tuple[tuple[str, int], ...],
    threads: int | None,
    repeats: int,
    seed: int,
    top: int | None,
    trace: Path | None,
    trust: bool,
    keys: Path | None,
    as_json: bool,
) -> None:
    """Measure every kernel of MODEL: its time, and that as a share of the least that this machine could need.

    The machine's limits are measured first: products a second, and bytes a second from caches and memory. A kernel at
    100% does its arithmetic, or moves its data, as fast as a loop that does nothing else.
    """
    from basalt.cli import feeding, models
    from basalt.cli.ahead.opening import open_model
    from basalt.runtime.profile import profile
    from basalt.runtime.threads import THREADS

    loaded = open_model(model, trust, keys)
    if not isinstance(loaded, basalt.Runner):
        loaded = models.load(model, shapes, loaded)
    feeds, sizes = feeding.feeds_and_sizes(loaded, feeding.input_files(loaded, inputs), shapes, dims, seed)
    if threads is not None:
        models.set_threads(threads)
    programs = _programs(loaded, feeds, sizes.shapes, seed)
    peaks = _peaks(THREADS.count)
    with measuring("running"):
        rows = [row for program, given in programs for row in profile(program, given, repeats)]
    entries = [_entry(i, row, peaks) for i, row in enumerate(rows)]
    if trace is not None:
        _write_trace(trace, entries, model.name)
    if as_json:
        print_json({"shapes": sizes.shapes, "threads": peaks.threads, "peaks": _limits(peaks), "rows": entries})
        return
    _print(entries, peaks, top)


def _programs(
    model: Executable | basalt.Runner, feeds: dict[str, Any], shapes: dict[str, tuple[int, ...]], seed: int
) -> list[tuple[Program, dict[str, Any]]]:
    """What is measured, with its inputs: the model's program, or all in the file of a model of several steps."""
    from basalt.cli import arrays, models
    from basalt.runtime.program import Program

    if isinstance(model, basalt.Runner) and model.native is not None and not model.native.direct:
        models.say("the model has several steps; each program in the file is measured, on random numbers")
        programs = model.native.programs()
        given = [{tensor.name: tensor.shape for tensor in program.spec.inputs} for program in programs]
        return [(p, arrays.random_feeds(p.spec.inputs, s, seed)) for p, s in zip(programs, given)]
    if isinstance(model, basalt.Runner) and model.native is not None:
        stored = model.native.program_for(shapes)
        if stored is not None:
            return [(stored, feeds)]
        model = model.source()
    with compiling() as show:
        program, _ = models.compile_for(model, shapes, show, feeds)
    if not isinstance(program, Program):
        raise click.ClickException(
            "BASALT_DEBUG=interpret runs everything through NumPy: there are no kernels to measure"
        )
    return [(program, feeds)]


def _peaks(threads: int) -> Peaks:
    from basalt.compiler.peaks import measure_peaks

    with measuring("measuring the machine's limits") as show:
        return measure_peaks(threads, show)


def _entry(index: int, row: RowTime, peaks: Peaks) -> dict[str, Any]:
    """One row for JSON: seconds, operations and bytes a second, and its least time as a share of its time."""
    seconds = row.median / 1e9
    least = peaks.seconds(row.operations, row.nbytes, row.dtype)
    return {
        "row": index,
        "label": row.label,
        "kernel": row.kernel,
        "seconds": seconds,
        "best_seconds": row.best / 1e9,
        "chunks": row.chunks,
        "operations": row.operations,
        "bytes": row.nbytes,
        "dtype": row.dtype,
        "operations_per_second": row.operations / seconds if seconds else None,
        "bytes_per_second": row.nbytes / seconds if seconds else None,
        "peak_share": least / seconds if seconds else None,
    }


def _limits(peaks: Peaks) -> dict[str, Any]:
    return {
        "operations_per_second": dict(peaks.operations),
        "bytes_per_second": {str(size): speed for size, speed in peaks.bandwidth},
    }


def _print(entries: Sequence[dict[str, Any]], peaks: Peaks, top: int | None) -> None:
    total = sum(entry["seconds"] for entry in entries)
    shown = entries if top is None else sorted(entries, key=lambda e: -e["seconds"])[:top]
    columns = ["#", "operators", "kernel", "time", "%", "GFLOP/s", "GB/s", "% of peak", "chunks"]
    print_table(columns, [_cells(entry, total) for entry in shown], right=[c for c in columns if c[0] not in "ok"])
    speeds = ", ".join(f"{name} {speed / 1e9:.0f} GFLOP/s" for name, speed in peaks.operations.items())
    print(f"{len(entries)} rows, {seconds_text(total)} in all on {peaks.threads} thread{'s'[: peaks.threads > 1]}")
    print(f"limits measured here: {speeds}; memory {peaks.memory / 1e9:.1f} GB/s")


def _cells(entry: dict[str, Any], total: float) -> list[str]:
    label = entry["label"] if len(entry["label"]) <= _LABEL else entry["label"][: _LABEL - 3] + "..."
    speed, moved, share = entry["operations_per_second"], entry["bytes_per_second"], entry["peak_share"]
    return [
        str(entry["row"]),
        label,
        entry["kernel"],
        seconds_text(entry["seconds"]),
        f"{100 * entry['seconds'] / total:.1f}" if total else "",
        f"{speed / 1e9:.1f}" if speed and entry["dtype"] else "",
        f"{moved / 1e9:.1f}" if moved else "",
        f"{100 * share:.0f}" if share else "",
        str(entry["chunks"]),
    ]


def _write_trace(path: Path, entries: Sequence[dict[str, Any]], name: str) -> None:
    """The rows one after another, each as long as its median, in the trace event format of Chromium."""
    from basalt.serialization.atomic import atomic_file

    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": name}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "kernels"}},
    ]
    start = 0.0
    for entry in entries:
        duration = entry["seconds"] * 1e6
        events.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": 1,
                "ts": start,
                "dur": duration,
                "name": entry["label"] or entry["kernel"],
                "cat": entry["kernel"],
                "args": {key: value for key, value in entry.items() if key not in ("label", "kernel")},
            }
        )
        start += duration
    with atomic_file(str(path)) as file:
        file.write(json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}).encode())
