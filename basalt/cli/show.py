"""``bslc show``: what a model is, what the passes make of it, which code it becomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from basalt.cli.ahead.options import keys_option
from basalt.cli.arguments import model_argument, shape_options
from basalt.cli.completing import PASSES, one_of
from basalt.cli.output import json_option, print_json, print_table, size_text

if TYPE_CHECKING:
    from basalt.cli.models import Sizes
    from basalt.compiler.executable import Executable
    from basalt.runtime.spec import ProgramSpec

__all__ = ["show"]


@click.command()
@model_argument
@click.option(
    "--after",
    metavar="PASS",
    shell_complete=one_of((*PASSES, "all")),
    help="Print the graph after this pass, or after 'all'; --passes lists them.",
)
@click.option("--source", is_flag=True, help="Print the generated code of the kernels.")
@click.option("--explain", is_flag=True, help="Print the calls of kernels, in order, with estimated times.")
@click.option("--passes", is_flag=True, help="Print what each pass of the compiler did.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.html",
    help="Write a page for a browser that shows all of this and the plan of the memory.",
)
@keys_option
@shape_options
@json_option
def show(
    model: Path,
    after: str | None,
    source: bool,
    explain: bool,
    passes: bool,
    html: Path | None,
    keys: Path | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    dims: tuple[tuple[str, int], ...],
    as_json: bool,
) -> None:
    """Print MODEL's graph, passes, calls or code.

    Without an option that is the graph as the file holds it, below its inputs, outputs and weights; of an ONNX model
    its inputs, outputs, operators, parameters and the plan of its memory; of a file with machine code what it holds
    for which CPUs, and who signed it. The other options look at the model in such a file.
    """
    from basalt.cli import models

    if (after is not None) + source + explain + passes + (html is not None) > 1:
        raise click.UsageError("--after, --source, --explain, --passes and --html exclude each other")
    if html is not None:
        from basalt.cli.show_html import show_html

        show_html(model, html, shapes, dims, as_json)
        return
    if after is None and not (source or explain or passes):
        if shapes or dims:
            raise click.UsageError("--shape and --dim need --after, --source, --explain, --passes or --html")
        _show_file(model, keys, as_json)
        return
    loaded = models.load(model, shapes)
    if after is not None:
        _check_pass(after)
    sizes = models.resolve(loaded, shapes, dims)
    sizes.note()
    if after is not None:
        _show_graph(loaded, after, sizes, as_json)
    elif passes:
        _show_passes(loaded, sizes, as_json)
    elif source:
        _show_source(models.plan(loaded, sizes), as_json)
    else:
        _show_calls(models.plan(loaded, sizes), as_json)


def _show_file(path: Path, keys: Path | None, as_json: bool) -> None:
    import basalt
    from basalt.cli.ahead.opening import holds_program
    from basalt.cli.show_facts import facts_of

    if holds_program(path):
        from basalt.cli.ahead.showing import show_program

        show_program(path, keys, as_json)
        return

    loaded = basalt.load(path)
    if isinstance(loaded, basalt.OnnxExecutable):
        from basalt.cli.show_onnx import show_onnx

        show_onnx(loaded, as_json)
        return
    facts = facts_of(loaded)
    if isinstance(loaded, basalt.Estimator):
        loaded = loaded.executable()
    if not isinstance(loaded, basalt.Executable):
        raise click.ClickException(f"{path}: holds a {type(loaded).__name__}, expected a model")
    _show_model(loaded, as_json, facts)


def _show_model(model: Executable, as_json: bool, facts: dict[str, Any]) -> None:
    from basalt.cli.show_facts import fact_lines

    description = facts | _description(model)
    if as_json:
        print_json(description | {"graph": model.text()})
        return
    rows = [
        [kind, entry["name"], entry["dtype"], f"[{', '.join(map(str, entry['shape']))}]"]
        for kind, entries in (("input", description["inputs"]), ("output", description["outputs"]))
        for entry in entries
    ]
    print_table(["", "name", "data type", "shape"], rows)
    operators = ", ".join(f"{count} {name}" for name, count in description["operators"].items())
    print("", *fact_lines(facts), sep="\n")
    print(f"nodes    {sum(description['operators'].values())}: {operators or 'none'}")
    print(f"weights  {description['weights']:,} ({size_text(description['weight_bytes'])})")
    for key, text in description["metadata"].items():
        print(f"{key}: {text}")
    print(f"\n{model.text()}", end="")


def _description(model: Executable) -> dict[str, Any]:
    arrays = [model.constants.array(value) for value in model.graph.constants()]
    return {
        "name": model.name,
        "inputs": [asdict(spec) for spec in model.inputs],
        "outputs": [asdict(spec) for spec in model.outputs],
        "operators": dict(Counter(node.op for node in model.graph.nodes).most_common()),
        "weights": sum(array.size for array in arrays),
        "weight_bytes": sum(array.nbytes for array in arrays),
        "metadata": getattr(model, "metadata", {}),
    }


def _check_pass(name: str) -> None:
    from basalt.compiler.pipeline import PASSES

    names = [each.name for each in PASSES]
    if name not in (*names, "all"):
        raise click.UsageError(f"--after: there is no pass {name!r}; the passes are {', '.join(names)}, or all of them")


def _show_graph(model: Executable, after: str, sizes: Sizes, as_json: bool) -> None:
    text = model.text(after, sizes.shapes)
    if as_json:
        print_json({"after": after, "shapes": sizes.shapes, "graph": text})
    else:
        print(text, end="")


def _show_passes(model: Executable, sizes: Sizes, as_json: bool) -> None:
    from basalt.compiler.passes.specialise import specialise
    from basalt.compiler.pipeline import PASSES, run_pipeline

    why = {each.name: each.why for each in PASSES}
    graph = specialise(model.graph, sizes.dims)
    nodes, entries = len(graph.nodes), []
    for stage in run_pipeline(graph, model.constants.copy(), record=True).stages:
        change, nodes = len(stage.graph.nodes) - nodes, len(stage.graph.nodes)
        entry: dict[str, Any] = {"pass": stage.name, "nodes": nodes, "change": change, "seconds": stage.seconds}
        entries.append(entry | {"rewrites": dict(Counter(stage.rewrites)), "why": why[stage.name]})
    if as_json:
        print_json(entries)
        return
    rows = [
        [e["pass"], str(e["nodes"]), f"{e['change']:+d}" if e["change"] else "", f"{e['seconds'] * 1e3:.1f}", e["why"]]
        for e in entries
    ]
    print_table(["pass", "nodes", "change", "ms", "why it stands here"], rows, right=["nodes", "change", "ms"])


def _show_source(spec: ProgramSpec, as_json: bool) -> None:
    from basalt.compiler.explain import source_of

    if as_json:
        print_json([{"kernel": i, "what": k.label, "source": k.source} for i, k in enumerate(spec.kernels)])
    else:
        print(source_of(spec), end="")


def _show_calls(spec: ProgramSpec, as_json: bool) -> None:
    from basalt.compiler.explain import explain

    explanation = explain(spec)
    if as_json:
        totals = {name: getattr(explanation, name) for name in ("kernels", "arena_bytes", "constant_bytes")}
        print_json(totals | {"calls": [asdict(row) for row in explanation]})
        return
    total = sum(call.microseconds for call in explanation)
    rows = [
        [
            str(call.index),
            call.kind,
            str(call.units),
            "no" if call.serial or call.units <= 1 else "yes",
            f"{call.microseconds:.3g}",
            f"{100 * call.microseconds / total:.1f}" if total else "",
            call.labels,
        ]
        for call in explanation
    ]
    columns = ["#", "kernel", "units", "split", "est. us", "%", "operators"]
    print_table(columns, rows, right=["#", "units", "est. us", "%"])
    print(f"\n{len(rows)} calls of {explanation.kernels} kernels, {total:.1f} us estimated on one core")
    print(f"constants {size_text(explanation.constant_bytes)}, arena {size_text(explanation.arena_bytes)}")
