"""Fusion: groups nodes that become one kernel.

Three kinds of groups exist. An *element-wise* group computes operators of one shape point by point. A *rows* group adds
reductions over one set of axes, with what comes before, between and after them. A *rooted* group is a product,
convolution or pool with the element-wise operators applied to each of its results before they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..codegen.registry import takes_epilogue
from ..codegen.rows import REDUCTIONS
from ..ir import FUSED, Graph, Node, Value, sort_nodes
from ..pointwise import is_pointwise
from .widen_products import NARROW

MAX_NODES = 48
MAX_OPERANDS = 20
"""Bounds of a group: beyond them a kernel compiles slowly and runs out of registers."""


def fuse(graph: Graph, context: Any = None) -> Graph:
    """The graph with each group of two or more nodes replaced by one ``fused`` node."""
    grouping = _Grouping(graph)
    for node in graph.nodes:
        grouping.add(node)
    return graph.with_nodes(sort_nodes([_fused(group, grouping) for group in grouping.groups()]))


@dataclass(eq=False)
class _Group:
    kind: str
    """elementwise, rows, rooted, or single (a node that nothing joins)."""
    shape: tuple[Any, ...]
    nodes: list[Node] = field(default_factory=list)
    axes: tuple[int, ...] = ()
    root: Node | None = None


class _Grouping:
    def __init__(self, graph: Graph) -> None:
        self.outputs = graph.output_values()
        self.producer = graph.producers()
        self.consumers = graph.consumers()
        self.position = {n: i for i, n in enumerate(graph.nodes)}
        self.group: dict[Node, _Group] = {}

    def groups(self) -> list[_Group]:
        return list(dict.fromkeys(self.group.values()))

    def add(self, node: Node) -> None:
        group = self._new(node)
        self.group[node] = group
        if group.kind == "single":
            return
        for value in dict.fromkeys(node.present):
            producer = self.producer.get(value)
            if producer is None:
                continue
            other = self.group[producer]
            group = self.group[node]
            if other is not group and self._may_join(other, group, node):
                self._join(other, group)

    def _new(self, node: Node) -> _Group:
        shape = node.outputs[0].shape
        if is_pointwise(node):
            return _Group("elementwise", shape, [node])
        if node.op in REDUCTIONS and node.attrs.get("keep_dimensions"):
            source = node.present[0].shape
            return _Group("rows", source, [node], tuple(sorted(node.attrs["axes"])))
        if takes_epilogue(node.op):
            return _Group("rooted", shape, [node], root=node)
        return _Group("single", shape, [node])

    def _may_join(self, producer: _Group, consumer: _Group, node: Node) -> bool:
        """Whether the group that makes one of ``node``'s operands and the one that holds ``node`` can be one kernel."""
        kinds = {producer.kind, consumer.kind}
        if "single" in kinds or len(producer.nodes) + len(consumer.nodes) > MAX_NODES:
            return False
        if kinds == {"elementwise"}:
            fits = producer.shape == consumer.shape
        elif "rows" in kinds and "rooted" not in kinds:
            fits = self._rows_fit(producer, consumer)
        else:
            fits = kinds != {"rows", "rooted"} and self._rooted_fit(producer, consumer)
        if not fits or len(self._operands(producer.nodes + consumer.nodes)) > MAX_OPERANDS:
            return False
        return not (self._depends_around(consumer, producer) or self._depends_around(producer, consumer))

    def _rows_fit(self, producer: _Group, consumer: _Group) -> bool:
        rows = producer if producer.kind == "rows" else consumer
        other = consumer if rows is producer else producer
        if other.kind == "rows":
            return other.shape == rows.shape and other.axes == rows.axes
        return other.shape in (rows.shape, _reduced(rows))

    def _rooted_fit(self, producer: _Group, consumer: _Group) -> bool:
        rooted = producer if producer.kind == "rooted" else consumer
        other = consumer if rooted is producer else producer
        if other.kind != "elementwise" or other.shape != rooted.shape or len(rooted.root.outputs) != 1:  # type: ignore[union-attr]
            return False
        made = {v for n in other.nodes for v in n.outputs}
        return not any(v in made for v in rooted.root.present) and not _narrows(rooted, other)  # type: ignore[union-attr]

    def _inside(self, value: Value, nodes: set[Node]) -> bool:
        return value not in self.outputs and all(c in nodes for c in self.consumers.get(value, ()))

    def _operands(self, nodes: Iterable[Node]) -> set[Value]:
        made = {v for n in nodes for v in n.outputs}
        return {v for n in nodes for v in n.present if v not in made}

    def _depends_around(self, late: _Group, early: _Group) -> bool:
        """Whether ``late`` depends on ``early`` through a third group: joining them would make a cycle."""
        # Forward from the earlier one: what was added since is little, what came before may be the whole graph.
        stack = [g for g in self._readers(early) if g is not late]
        seen = {early, *stack}
        while stack:
            fresh = [g for g in self._readers(stack.pop()) if g not in seen]
            if late in fresh:
                return True
            seen.update(fresh)
            stack += fresh
        return False

    def _readers(self, group: _Group) -> list[_Group]:
        """The groups, so far, that read what a group makes."""
        found: dict[_Group, None] = {}
        for node in group.nodes:
            for v in node.outputs:
                for reader in self.consumers.get(v, ()):
                    other = self.group.get(reader)
                    if other is not None and other is not group:
                        found[other] = None
        return list(found)

    def _join(self, producer: _Group, consumer: _Group) -> None:
        rank = {"elementwise": 0, "rows": 1, "rooted": 1}
        kept = producer if rank[producer.kind] >= rank[consumer.kind] else consumer
        gone = consumer if kept is producer else producer
        kept.nodes = producer.nodes + consumer.nodes
        for node in gone.nodes:
            self.group[node] = kept


def _narrows(rooted: _Group, other: _Group) -> bool:
    """Whether a sum of float32 is first made a narrow float, which micro-kernels do not compute with."""
    source = rooted.root.output  # type: ignore[union-attr]
    if source.dtype != "float32":
        return False
    return any(n.op == "cast" and n.present[0] is source and n.output.dtype in NARROW for n in other.nodes)


def _reduced(rows: _Group) -> tuple[Any, ...]:
    return tuple(1 if i in rows.axes else d for i, d in enumerate(rows.shape))


def _fused(group: _Group, grouping: _Grouping) -> Node:
    if len(group.nodes) == 1:
        return group.nodes[0]
    nodes = sorted(group.nodes, key=grouping.position.__getitem__)
    if group.root is not None:
        nodes.remove(group.root)
        nodes.insert(0, group.root)
    made = {v for n in nodes for v in n.outputs}
    inside = set(nodes)
    inputs = tuple(dict.fromkeys(v for n in nodes for v in n.present if v not in made))
    outputs = [v for n in nodes for v in n.outputs if not grouping._inside(v, inside)]
    inner_in = {v: Value(v.type, f"x{i}") for i, v in enumerate(inputs)}
    inner_out = {v: Value(v.type, v.name) for v in made}
    mapping = {**inner_in, **inner_out}
    body = Graph(
        tuple(inner_in.values()),
        tuple((f"y{i}", inner_out[v]) for i, v in enumerate(outputs)),
        tuple(_renamed(n, mapping) for n in nodes),
    )
    root = {"elementwise": "elementwise", "rows": "rows"}.get(group.kind) or group.root.op  # type: ignore[union-attr]
    labels = tuple(dict.fromkeys(label for n in nodes for label in n.labels()))
    return Node(FUSED, inputs, tuple(outputs), {"root": root, "body": body}, "", ("fuse",), labels)


def _renamed(node: Node, mapping: dict[Value, Value]) -> Node:
    return Node(
        node.op,
        tuple(None if v is None else mapping[v] for v in node.inputs),
        tuple(mapping[v] for v in node.outputs),
        node.attrs,
        node.label,
        node.origin,
        node.sources,
    )
