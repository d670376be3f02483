"""Types and attributes as the operators' rules give them, for the shapes that a graph has now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..ir import FUSED, Graph, Node, Value, fresh
from .context import Context
from .emitter import check

Attrs = Mapping[str, Any]


def infer_shapes(graph: Graph, context: Context) -> Graph:
    """The graph with every node checked by its operator's rule; the same graph if nothing changes.

    Raises:
        ValidationError: for a node that its operator's rule refuses; names the node's label and operands.
    """
    return recheck(graph, {}, lambda attrs: attrs)


def recheck(graph: Graph, values: dict[Value, Value], convert: Callable[[Attrs], Attrs]) -> Graph:
    """The graph with every node checked again.

    Args:
        graph: the graph.
        values: what stands for its inputs; completed with what stands for the outputs of nodes whose types change.
        convert: applied to each node's attributes before the check.
    """
    nodes = [_recheck_node(node, values, convert) for node in graph.nodes]
    if not values and all(a is b for a, b in zip(nodes, graph.nodes)):
        return graph
    inputs = tuple(values.get(v, v) for v in graph.inputs)
    outputs = tuple((name, values.get(v, v)) for name, v in graph.outputs)
    return replace(graph, inputs=inputs, outputs=outputs, nodes=tuple(nodes))


def _recheck_node(node: Node, values: dict[Value, Value], convert: Callable[[Attrs], Attrs]) -> Node:
    if node.op == FUSED:
        return node
    inputs = tuple(None if v is None else values.get(v, v) for v in node.inputs) if values else node.inputs
    types, attrs = check(node.op, inputs, convert(node.attrs), node.label)
    outputs = node.outputs
    if any(v.type != t for v, t in zip(outputs, types, strict=True)):
        outputs = tuple(fresh(v, t) for v, t in zip(outputs, types))
        values.update(zip(node.outputs, outputs))
    if outputs is node.outputs and inputs == node.inputs and attrs == node.attrs:
        return node
    return replace(node, inputs=inputs, outputs=outputs, attrs=attrs)
