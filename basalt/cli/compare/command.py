"""The ``compare`` command: its options, and the order of its work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from basalt.cli.ahead.options import trust_options
from basalt.cli.arguments import (
    MODEL,
    model_argument,
    random_input_option,
    random_seed_option,
    shape_options,
    threads_option,
)
from basalt.cli.completing import file_or
from basalt.cli.output import json_option

__all__ = ["compare_command"]

TOLERANCE = 1e-3
PEER_NAMES = ("numpy", "ort")


class Other(click.ParamType):
    """A model's path, or the name of a peer; a file of such a name is ``./ort``."""

    name = "OTHER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        if value in PEER_NAMES:
            return str(value)
        path: Path = MODEL.convert(value, param, ctx)
        return path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return file_or(PEER_NAMES, incomplete)


@click.command("compare")
@model_argument
@click.argument("other", type=Other())
@random_input_option
@shape_options
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=TOLERANCE,
    show_default=True,
    help="The greatest difference of floating-point numbers, in parts of an output's greatest magnitude.",
)
@click.option("--rtol", type=click.FloatRange(min=0), metavar="R", help="With --atol in place of --tolerance.")
@click.option(
    "--atol", type=click.FloatRange(min=0), metavar="A", help="Elements a and b may differ by A + R |b|, integers too."
)
@threads_option
@random_seed_option
@trust_options
@json_option
@click.pass_context
def compare_command(
    context: click.Context,
    model: Path,
    other: Path | str,
    inputs: tuple[tuple[str | None, Path], ...],
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    dims: tuple[tuple[str, int], ...],
    tolerance: float,
    rtol: float | None,
    atol: float | None,
    threads: int | None,
    seed: int,
    trust: bool,
    keys: Path | None,
    as_json: bool,
) -> None:
    """Compare MODEL's outputs with those of OTHER, on the same inputs.

    OTHER is a second model, or what runs MODEL itself: 'ort' is ONNX Runtime, 'numpy' the operators' NumPy semantics.
    It is the reference. Where an output differs by more than the tolerance, the first node is looked for whose result
    does, among the nodes that both have, and the exit status is 1.

    Integers, booleans and text must be equal; NaN and infinities must stand at the same places.
    """
    from basalt.cli import models
    from basalt.cli.compare.comparison import Comparison
    from basalt.cli.compare.differences import Limits
    from basalt.cli.compare.report import print_report

    if threads is not None:
        models.set_threads(threads)
    comparison = Comparison(model, other, Limits(tolerance, rtol, atol), trust, keys)
    comparison.feed(inputs, shapes, dims, seed)
    comparison.run()
    located = None if comparison.agrees else comparison.locate()
    print_report(comparison, located, as_json)
    if not comparison.agrees:
        context.exit(1)
