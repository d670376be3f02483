"""The part of a graph that some of its outputs depend on."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Graph

__all__ = ["pruned"]


def pruned(graph: Graph, outputs: Sequence[str]) -> Graph:
    """The graph of some outputs, with the inputs that they need."""
    known = dict(graph.outputs)
    named = tuple((name, known[name]) for name in outputs)
    used = {value for _, value in named}
    kept = []
    for node in reversed(graph.nodes):
        if not used.isdisjoint(node.outputs):
            used.update(node.present)
            kept.append(node)
    return Graph(tuple(v for v in graph.inputs if v in used), named, tuple(reversed(kept)), graph.name)
