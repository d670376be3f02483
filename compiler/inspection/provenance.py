"""Following a graph's nodes through the passes: labels that are numbers while they run, the user's own afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..ir import FUSED, Graph, Node

__all__ = ["named", "numbered", "numbers_of", "own_number"]


def numbered(graph: Graph) -> Graph:
    """The graph with each node labelled by its place: passes hand labels on, and the user's need not be distinct."""
    return graph.with_nodes(replace(node, label=str(i)) for i, node in enumerate(graph.nodes))


def own_number(node: Node) -> int | None:
    """The place of the user's node that this one still is; None for one that a pass made."""
    return int(node.label) if node.label else None


def numbers_of(node: Node) -> tuple[int, ...]:
    """The places of the user's nodes that a node stands for."""
    return tuple(int(label) for label in node.labels())


def named(graph: Graph, labels: Sequence[str]) -> Graph:
    """A graph that came of a numbered one, with the user's labels: what it would be had nothing been numbered.

    Args:
        graph: the graph; values are kept.
        labels: the user's label of each place.
    """
    return _relabelled(graph, lambda label: labels[int(label)])


def _relabelled(graph: Graph, name: Callable[[str], str]) -> Graph:
    return graph.with_nodes(_renamed(node, name) for node in graph.nodes)


def _renamed(node: Node, name: Callable[[str], str]) -> Node:
    own = name(node.label) if node.label else ""
    sources = tuple(dict.fromkeys(label for source in node.sources if (label := name(source))))
    attrs = node.attrs
    if node.op == FUSED:
        attrs = {**attrs, "body": _relabelled(node.body, name)}
    return replace(node, label=own, sources=sources, attrs=attrs)
