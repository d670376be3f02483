"""``bslc show MODEL --html OUT.html``: a page that shows what the compiler made of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import basalt
from basalt.cli.output import measuring, print_json, size_text

if TYPE_CHECKING:
    from basalt.cli.models import Sizes
    from basalt.compiler.inspection.whole import Heading
    from basalt.compiler.onnx.model import OnnxExecutable

__all__ = ["show_html"]


def show_html(
    model: Path,
    target: Path,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    dims: Sequence[tuple[str, int]],
    as_json: bool,
) -> None:
    """Write the page, and print a line about it. The file appears only once it is complete.

    A model that runs in steps is run once, on random numbers, to see its steps.
    """
    if target.exists() and target.samefile(model):
        raise click.UsageError(f"--html: {target} is the model itself")
    from basalt.serialization.atomic import atomic_file

    page = _page(model, shapes, dims).encode()
    with atomic_file(str(target)) as file:
        file.write(page)
    if as_json:
        print_json({"file": str(target), "bytes": len(page)})
    else:
        print(f"{target}: {size_text(len(page))}")


def _page(path: Path, shapes: Sequence[tuple[str, tuple[int, ...]]], dims: Sequence[tuple[str, int]]) -> str:
    from basalt.cli import feeding, models
    from basalt.compiler.inspection.whole import graph_page, steps_page
    from basalt.compiler.passes.specialise import specialise

    source = basalt.load(path, eager_first_run=False)
    loaded = models.load_any(path, shapes, source)
    if isinstance(loaded, basalt.OnnxExecutable):
        feeds, sizes = feeding.feeds_and_sizes(loaded, {}, shapes, dims)
        loaded.run(feeds)
        with measuring("writing assembly") as show:
            return steps_page(loaded.stages(), _heading(path, source, sizes), show)
    sizes = models.resolve(loaded, shapes, dims)
    sizes.note()
    graph = specialise(loaded.graph, sizes.dims)
    with measuring("writing assembly") as show:
        return graph_page(graph, loaded.constants, sizes.dims, _heading(path, source, sizes), show)


def _heading(path: Path, source: Any, sizes: Sizes) -> Heading:
    """The file's name, and what it says of itself."""
    from basalt.cli.show_facts import fact_lines, facts_of
    from basalt.compiler.inspection.whole import Heading

    facts: list[tuple[str, str]] = []
    if isinstance(source, basalt.OnnxExecutable):
        facts += _onnx_facts(source)
    else:
        facts += [
            (name, rest.strip()) for name, _, rest in (line.partition(" ") for line in fact_lines(facts_of(source)))
        ]
    facts += list(getattr(source, "metadata", {}).items())
    return Heading(path.name, facts, sizes.assumed)


def _onnx_facts(model: OnnxExecutable) -> list[tuple[str, str]]:
    source = model.onnx
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in source.opset_imports.items())
    return [("ONNX", f"IR {source.ir_version}, opset {opsets}"), ("producer", source.producer)]
