"""Gives each output a value of its own, which a kernel can write where the caller wants it."""

from __future__ import annotations

from ..ir import Graph, Node, Value
from .context import Context
from .emitter import Emitter


def separate_outputs(graph: Graph, context: Context) -> Graph:
    """The graph with a copy for each output that is an input, a constant, or another output as well."""
    taken: set[Value] = set(graph.inputs)
    added: list[Node] = []
    outputs: list[tuple[str, Value]] = []
    for name, v in graph.outputs:
        if v in taken or v.is_constant:
            emitter = Emitter(context, "separate_outputs", ())
            v = emitter.emit("identity", v)
            added += emitter.nodes
        taken.add(v)
        outputs.append((name, v))
    return graph.with_nodes((*graph.nodes, *added), outputs) if added else graph
