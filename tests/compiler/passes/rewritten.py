"""What a pass of rewrites makes of one graph, and what its tests have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from basalt.compiler.ir import Graph, Value
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.rewriting import Rewrite
from basalt.compiler.text import print_graph
from basalt.compiler.verify import verify

from ..making import Maker
from . import expected

Result = tuple[Graph, Graph, Context]
"""The graph before and after the pass, and the pass' surroundings with its notes."""


def rewritten(function: Callable[[Graph, Context], Graph], build: Callable[[Maker], Value]) -> Result:
    """A graph of one output before and after a pass, which leaves it valid."""
    m = Maker()
    graph = m.graph(y=build(m))
    context = Context(m.constants, collect_notes=True)
    after = function(graph, context)
    verify(after, m.constants)
    return graph, after, context


def check_texts(file: str, results: Mapping[str, Result]) -> None:
    """Compare the graphs before and after a pass with those of a file of expected texts."""
    expected.check(
        file,
        {
            name: "\n\n".join(print_graph(graph, context.constants).strip() for graph in (before, after))
            for name, (before, after, context) in results.items()
        },
    )


def check_guards(rewrites: Iterable[Rewrite], left: Mapping[str, tuple[Any, str | None]]) -> None:
    """Every remark that a guard makes is that of a graph that is left alone; None stands for guards without one."""
    remarks = {remark or None for r in rewrites for remark, _ in r.guards}
    assert {remark for _, remark in left.values()} == remarks
