"""Computes once what is computed twice alike."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from ..ir import FUSED, Graph, Node, Value
from .context import Context

MERGED_BYTES = 4096
"""Constants up to this size are merged if they are equal; larger ones if they are one array of the store."""

_COMMUTATIVE = ("add", "mul", "equal", "not_equal", "logical_and", "logical_or", "logical_xor")


def common_subexpressions(graph: Graph, context: Context) -> Graph:
    """The graph with one node for all of equal operator, operands and attributes; it takes over the others' labels."""
    merged: dict[Value, Value] = _equal_constants(graph, context)
    seen: dict[Hashable, int] = {}
    order: dict[Value, int] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if any(v in merged for v in node.present):
            node = replace(node, inputs=tuple(None if v is None else merged.get(v, v) for v in node.inputs))
        key = None if node.op == FUSED else _key(node, order)
        first = seen.get(key) if key is not None else None
        if first is not None:
            nodes[first] = _with_labels_of(nodes[first], node)
            merged.update(zip(node.outputs, nodes[first].outputs))
            continue
        if key is not None:
            seen[key] = len(nodes)
        nodes.append(node)
    if not merged:
        return graph
    return graph.with_nodes(nodes, [(name, merged.get(v, v)) for name, v in graph.outputs])


def _equal_constants(graph: Graph, context: Context) -> dict[Value, Value]:
    merged: dict[Value, Value] = {}
    first: dict[Hashable, Value] = {}
    for v in graph.constants():
        array = context.constants.array(v)
        key = (v.type, array.tobytes()) if array.nbytes <= MERGED_BYTES else v.constant
        kept = first.setdefault(key, v)
        if kept is not v:
            merged[v] = kept
    return merged


def _key(node: Node, order: dict[Value, int]) -> Hashable:
    inputs = [-1 if v is None else order.setdefault(v, len(order)) for v in node.inputs]
    if node.op in _COMMUTATIVE:
        inputs.sort()
    return node.op, tuple(inputs), tuple((name, _attr_key(a)) for name, a in sorted(node.attrs.items()))


def _attr_key(attr: Any) -> Hashable:
    """Attributes that differ in type or in the sign of a zero are different: 1, 1.0 and True, 0.0 and -0.0."""
    if isinstance(attr, tuple):
        return tuple(_attr_key(a) for a in attr)
    return type(attr), repr(attr) if isinstance(attr, float) else attr


def _with_labels_of(node: Node, other: Node) -> Node:
    labels = node.labels()
    added = tuple(label for label in other.labels() if label not in labels)
    return replace(node, sources=node.sources + added) if added else node
