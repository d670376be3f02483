"""``bslc run``: feed a model and show what comes out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import basalt
from basalt.cli.ahead.options import trust_options
from basalt.cli.arguments import NAMED_FILE, model_argument, shape_options, threads_option
from basalt.cli.output import compiling, json_option, note, print_json, print_table, seconds_text
from basalt.cli.row_options import RowOptions, row_options

if TYPE_CHECKING:
    import numpy as np

    from basalt.compiler.executable import Executable
    from basalt.compiler.onnx.model import OnnxExecutable

__all__ = ["run_command"]


@click.command("run")
@model_argument
@click.option(
    "--input",
    "inputs",
    type=NAMED_FILE,
    metavar=NAMED_FILE.name,
    multiple=True,
    help="An input's values; NAME= may be left out for an only input.",
)
@click.option("--random", "fill", is_flag=True, help="Fill the inputs that are not given with random numbers.")
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Seed for --random."
)
@row_options
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Save the outputs: FILE.npz, or a folder of .npy files; of rows FILE.csv, FILE.npy or FILE.parquet.",
)
@shape_options
@threads_option
@trust_options
@json_option
def run_command(
    model: Path,
    inputs: tuple[tuple[str | None, Path], ...],
    fill: bool,
    seed: int,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    dims: tuple[tuple[str, int], ...],
    output: Path | None,
    threads: int | None,
    trust: bool,
    keys: Path | None,
    as_json: bool,
    **_of_rows: Any,
) -> None:
    """Run MODEL once and print a summary of each output, or give it the rows of a table.

    Random floats are uniform in [0, 1); random integers and booleans are 0 or 1.

    The header of a table is checked against the names of an estimator's features, in any order. The results of rows are
    CSV on stdout unless there is an --output.
    """
    from basalt.cli import arrays, feeding, models

    if threads is not None:
        models.set_threads(threads)
    rows = RowOptions.of(click.get_current_context().params)
    if rows is not None:
        from basalt.cli.rows import predict_rows

        predict_rows(model, rows)
        return
    if output is not None:
        arrays.check_target(output)
    loaded = models.load_to_run(model, shapes, trust, keys)
    files = feeding.input_files(loaded, inputs)
    _check_given([spec.name for spec in loaded.inputs], files, [name for name, _ in shapes], fill)
    feeds, sizes = feeding.feeds_and_sizes(loaded, files, shapes, dims, seed)
    report, outputs = _run(loaded, feeds, sizes.shapes)
    report = {"shapes": sizes.shapes, "machine_code": getattr(loaded, "level", None)} | report
    outputs = arrays.flattened(outputs)
    if output is not None:
        arrays.save(output, outputs)
    _print(report, outputs, as_json)


def _check_given(declared: list[str], files: dict[str, Path], shaped: list[str], fill: bool) -> None:
    missing = [name for name in declared if name not in files]
    if missing and not fill:
        names = ", ".join(missing)
        raise click.UsageError(f"no value for input {names}: give --input {missing[0]}=FILE.npy, or --random")
    unused = [name for name in shaped if name in files]
    if unused:
        raise click.UsageError(f"--shape {unused[0]}=... only applies to an input that --random fills")


def _run(
    model: Executable | OnnxExecutable | basalt.Runner, feeds: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Compile and run; the report holds the kernels that were compiled, and seconds for both."""
    from basalt.cli import models

    start = time.perf_counter()
    with compiling() as show:
        program, compiled = models.compile_for(model, shapes, show, feeds)
    middle = time.perf_counter()
    outputs = program.run(feeds)
    end = time.perf_counter()
    note(f"ready in {seconds_text(middle - start)} ({compiled} kernels compiled), ran in {seconds_text(end - middle)}")
    return {"compiled": compiled, "compile_seconds": middle - start, "run_seconds": end - middle}, outputs


def _print(report: dict[str, Any], outputs: dict[str, np.ndarray], as_json: bool) -> None:
    from basalt.cli.arrays import summary
    from basalt.cli.models import shape_text

    summaries = [summary(name, array) for name, array in outputs.items()]
    if as_json:
        print_json({**report, "outputs": summaries})
        return
    columns = ["output", "data type", "shape", "min", "mean", "max", "first values"]
    rows = [
        [
            entry["name"],
            entry["dtype"],
            shape_text(entry["shape"]),
            *map(_number_text, (entry["min"], entry["mean"], entry["max"])),
            " ".join(map(_number_text, entry["first"])),
        ]
        for entry in summaries
    ]
    print_table(columns, rows, right=["min", "mean", "max"])


def _number_text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
