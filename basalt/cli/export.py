"""``bslc export``: write a model as ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import basalt
from basalt.cli.arguments import OUTPUT_FILE, model_argument
from basalt.cli.output import json_option, print_json, size_text

__all__ = ["export"]

OLDEST_OPSET = 17


def _known_opset(context: click.Context, parameter: click.Parameter, value: int) -> int:
    """An opset that can be written; asked only where one is given, for it takes reading a table."""
    if value != OLDEST_OPSET:
        from basalt.compiler.onnx.schemas import latest_opset

        if not OLDEST_OPSET <= value <= latest_opset():
            raise click.BadParameter(f"{value}: expected {OLDEST_OPSET} to {latest_opset()}")
    return value


@click.command("export")
@model_argument
@click.option("-o", "--output", type=OUTPUT_FILE, required=True, help="The .onnx file to write.")
@click.option(
    "--opset",
    type=int,
    default=OLDEST_OPSET,
    show_default=True,
    callback=_known_opset,
    help="Version of ai.onnx to write.",
)
@click.option("--external-data", metavar="NAME", help="Put large weights into a file of this name beside it.")
@json_option
def export(model: Path, output: Path, opset: int, external_data: str | None, as_json: bool) -> None:
    """Write MODEL as an ONNX model with equal results.

    Names of inputs and outputs, data types, symbolic dimensions, labels and metadata stay. What ONNX cannot say at
    this opset is an error that names every such operator; no file is written then.
    """
    from basalt.cli import models
    from basalt.cli.ahead.opening import source_of

    loaded = source_of(model)
    if isinstance(loaded, basalt.Estimator):
        exported = basalt.OnnxConverter.to_onnx(loaded, opset=opset)
    else:
        exported = basalt.to_onnx(models.load(model, (), loaded), opset=opset)
    exported.save(output, external_data)
    files = [output] if external_data is None else [output, output.parent / external_data]
    # No weight may be large enough for the second file.
    size = sum(file.stat().st_size for file in files if file.exists())
    report: dict[str, Any] = {
        "file": str(output),
        "opset": opset,
        "ir_version": exported.ir_version,
        "nodes": len(exported.nodes),
        "initializers": len(exported.graph.initializers),
        "bytes": size,
    }
    if as_json:
        print_json(report)
        return
    print(f"{output}: opset {opset}, {report['nodes']} nodes, {report['initializers']} initializers, {size_text(size)}")
