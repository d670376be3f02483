"""Removes the nodes that no output depends on."""

from __future__ import annotations

from ..ir import Graph, Value
from .context import Context


def dead_code(graph: Graph, context: Context) -> Graph:
    """The graph without the nodes whose results nobody reads; inputs stay, they are part of the graph's signature."""
    return remove_dead_nodes(graph)


def remove_dead_nodes(graph: Graph) -> Graph:
    """The graph without the nodes that no output depends on; the same graph if there are none."""
    live: set[Value] = set(graph.output_values())
    kept = []
    for node in reversed(graph.nodes):
        if any(v in live for v in node.outputs):
            kept.append(node)
            live.update(node.present)
    return graph if len(kept) == len(graph.nodes) else graph.with_nodes(reversed(kept))
