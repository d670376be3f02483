"""``bslc run``: feed a model and show what comes out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from basalt.cli.arguments import NAMED_FILE, NAMED_SHAPE, by_name, model_argument
from basalt.cli.output import json_option, print_json, print_table, progress

if TYPE_CHECKING:
    import numpy as np

__all__ = ["run_command"]


@click.command("run")
@model_argument
@click.option(
    "--input",
    "inputs",
    type=NAMED_FILE,
    multiple=True,
    help="An input's values; NAME= may be left out for an only input.",
)
@click.option("--random", "fill", is_flag=True, help="Fill the inputs that are not given with random numbers.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed for --random.")
@click.option(
    "--shape",
    "shapes",
    type=NAMED_SHAPE,
    multiple=True,
    help="Shape of an input filled by --random; a symbolic dimension is 1 otherwise.",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="Save the outputs: FILE.npz, or a folder of .npy files."
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads to use.  [default: one a core]")
@json_option
def run_command(
    model: Path,
    inputs: tuple[tuple[str | None, Path], ...],
    fill: bool,
    seed: int,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    output: Path | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Run MODEL once and print a summary of each output.

    Random floats are uniform in [0, 1); random integers and booleans are 0 or 1.
    """
    from basalt.cli import arrays, models

    if output is not None:
        arrays.check_target(output)
    loaded = models.load(model)
    declared = {spec.name: spec for spec in loaded.inputs}
    files = by_name("--input", inputs, list(declared))
    sizes = by_name("--shape", shapes, list(declared))
    _check_given(list(declared), files, sizes, fill)
    feeds = {name: arrays.read(path) for name, path in files.items()}
    if fill:
        missing = [spec for name, spec in declared.items() if name not in feeds]
        feeds |= arrays.random_feeds(missing, sizes, seed)
    if threads is not None:
        models.set_threads(threads)
    report, outputs = _run(loaded, feeds)
    if output is not None:
        arrays.save(output, outputs)
    _print(report, outputs, as_json)


def _check_given(declared: list[str], files: dict[str, Path], sizes: dict[str, Any], fill: bool) -> None:
    missing = [name for name in declared if name not in files]
    if missing and not fill:
        names = ", ".join(missing)
        raise click.UsageError(f"no value for input {names}: give --input {missing[0]}=FILE.npy, or --random")
    unused = [name for name in sizes if name in files or not fill]
    if unused:
        raise click.UsageError(f"--shape {unused[0]}=... only applies to an input that --random fills")


def _run(model: Any, feeds: dict[str, np.ndarray]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Compile and run; the report holds seconds for both."""
    from basalt.cli import models

    with progress("compiling"):
        start = time.perf_counter()
        program = models.compile_for(model, {name: array.shape for name, array in feeds.items()})
        compiled = time.perf_counter()
    outputs = program.run(feeds)
    return {"compile_seconds": compiled - start, "run_seconds": time.perf_counter() - compiled}, outputs


def _print(report: dict[str, float], outputs: dict[str, np.ndarray], as_json: bool) -> None:
    from basalt.cli.arrays import summary

    summaries = [summary(name, array) for name, array in outputs.items()]
    if as_json:
        print_json({**report, "outputs": summaries})
        return
    columns = ["output", "data type", "shape", "min", "mean", "max", "first values"]
    rows = [
        [
            entry["name"],
            entry["dtype"],
            _shape_text(entry["shape"]),
            *map(_number_text, (entry["min"], entry["mean"], entry["max"])),
            " ".join(map(_number_text, entry["first"])),
        ]
        for entry in summaries
    ]
    print_table(columns, rows, right=["min", "mean", "max"])


def _shape_text(shape: list[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _number_text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
