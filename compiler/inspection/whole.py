"""A model as a page: one section for a single graph, one for each step of an ONNX model that runs in steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..ir import Constants, Graph
from ..passes.specialise import specialise
from .page import Heading, Section, page
from .region import Told, region_of

if TYPE_CHECKING:
    from ..onnx.stage import Stage

__all__ = ["Heading", "graph_page", "steps_page"]

MOST_STEPS = 40
"""Steps that a page shows: loops may have many more."""


def graph_page(
    graph: Graph, constants: Constants, sizes: Mapping[str, int], heading: Heading, told: Told | None = None
) -> str:
    """The page of a graph all of whose sizes are known; ``sizes`` are those that its symbolic dimensions were given.

    Raises:
        UnsupportedError: for an operator without a kernel.
    """
    region = region_of(graph, constants, sizes, told)
    return page(heading, [Section(heading.title, region)])


def steps_page(stages: Sequence[Stage], heading: Heading, told: Told | None = None) -> str:
    """The page of a model that runs in steps, as far as runs have translated it.

    A region is shown for the sizes that its newest program is for.

    Raises:
        UnsupportedError: for an operator without a kernel.
    """
    sections: list[Section] = []
    for stage, depth in _walk(stages, 0):
        if len(sections) >= MOST_STEPS:
            sections.append(Section("further steps", None, 0, f"A page shows the first {MOST_STEPS} sections."))
            break
        sections += _sections(stage, depth, told)
    return page(heading, sections)


def _walk(stages: Iterable[Stage], depth: int) -> Iterable[tuple[Stage, int]]:
    for stage in stages:
        yield stage, depth
        if stage.point is not None:
            yield from _walk(stage.point.stages(), depth + 1)


def _sections(stage: Stage, depth: int, told: Told | None) -> list[Section]:
    from ..onnx.steps import Return, describe

    found = []
    if stage.executable is not None:
        found.append(_region_section(stage, depth, told))
    if not isinstance(stage.step, Return):
        note = "A step that no program computes: it runs in Python between the programs before and after it."
        found.append(Section(describe(stage.step), None, depth, note))
    return found


def _region_section(stage: Stage, depth: int, told: Told | None) -> Section:
    from ..shape_binding import bind_sizes

    executable = stage.executable
    assert executable is not None
    graph = executable.graph
    title = f"program: {', '.join(dict.fromkeys(node.op for node in graph.nodes))}"
    signatures = executable.signatures()
    if not signatures and not graph.is_static:
        return Section(title, None, depth, "This program is not compiled yet, so that its sizes are not known.")
    shapes = dict(zip((v.name for v in graph.inputs), signatures[-1])) if signatures else {}
    sizes = bind_sizes(graph.inputs, shapes)
    return Section(title, region_of(specialise(graph, sizes), executable.constants, sizes, told), depth)
