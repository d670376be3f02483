"""Checks a model before it is translated: that every operator exists and is supported, and attributes are its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from basalt.errors import ModelFormatError, UnsupportedError
from basalt.serialization.onnx import OnnxGraph, OnnxModel, OnnxNode

from . import registry
from .control import CONTROL
from .host import registry as host
from .schemas import schema_for, schemas

__all__ = ["check_model", "is_supported", "reordered"]

Functions = Mapping[tuple[str, str, str], object]


def check_model(model: OnnxModel) -> None:
    """Refuse what cannot run.

    Raises:
        UnsupportedError: lists ALL nodes whose operator, at the version that the model imports, is not supported.
        ModelFormatError: for an unknown or ill-typed attribute, one that is missing, a name given twice, and a cycle.
    """
    opsets = {_domain(d): v for d, v in model.opset_imports.items()} or {"": 1}
    functions = {(_domain(f.domain), f.name, f.overload): f for f in model.functions}
    problems: dict[str, list[str]] = {}
    for node, versions in _all_nodes(model, opsets):
        key = (_domain(node.domain), node.op_type, node.overload)
        if key in functions:
            continue
        reason = _unsupported(node, versions)
        if reason:
            problems.setdefault(reason, []).append(node.name or next((o for o in node.outputs if o), "?"))
        else:
            _check_attributes(node, versions)
    if problems:
        lines = [f"{reason}: {_shortened(labels)}" for reason, labels in sorted(problems.items())]
        raise UnsupportedError("the model has operators that are not supported:\n  " + "\n  ".join(lines))


def is_supported(domain: str, op: str, version: int) -> bool:
    """Whether something computes an operator of exactly this since-version."""
    return (
        (domain, op) in CONTROL
        or registry.find(op, version, domain) is not None
        or host.find(op, version, domain) is not None
    )


def _unsupported(node: OnnxNode, opsets: Mapping[str, int]) -> str:
    """Why a node is not supported, "" if it is."""
    domain = _domain(node.domain)
    shown = f"{domain or 'ai.onnx'}.{node.op_type}"
    opset = opsets.get(domain)
    if opset is None:
        if registry.find_newest(node.op_type, 1 << 30, domain) is None:
            return f"{shown} (the model imports no version of its domain)"
        opset = 1
    schema = schema_for(domain, node.op_type, opset)
    if schema is not None:
        return "" if is_supported(domain, node.op_type, schema.since) else f"{shown}-{schema.since} (opset {opset})"
    if registry.find_newest(node.op_type, opset, domain) or host.find(node.op_type, opset, domain):
        return ""
    known = schemas(domain, node.op_type)
    since = f"; it exists since version {known[0].since}" if known else ""
    return f"{shown} (opset {opset}{since})"


def _check_attributes(node: OnnxNode, opsets: Mapping[str, int]) -> None:
    schema = schema_for(_domain(node.domain), node.op_type, opsets.get(_domain(node.domain), 1))
    if schema is None:
        return
    label = f"{node.op_type}-{schema.since} {node.name or next((o for o in node.outputs if o), '')!r}"
    for name, attribute in node.attributes.items():
        declared = schema.attributes.get(name)
        if declared is None:
            expected = ", ".join(sorted(schema.attributes)) or "none"
            raise ModelFormatError(f"node {label} has an unknown attribute {name!r}; its attributes are: {expected}")
        if attribute.kind not in (declared.kind, "UNDEFINED"):
            raise ModelFormatError(f"node {label}: attribute {name!r} is {attribute.kind}, expected {declared.kind}")
    missing = [n for n, a in schema.attributes.items() if a.required and n not in node.attributes]
    if missing:
        raise ModelFormatError(f"node {label}: attribute {missing[0]!r} is missing")


def _all_nodes(model: OnnxModel, opsets: Mapping[str, int]) -> Iterator[tuple[OnnxNode, Mapping[str, int]]]:
    """Every node with the versions that apply to it, those of bodies and functions included."""
    yield from ((node, opsets) for node in _nodes_in(model.graph))
    for function in model.functions:
        versions = {_domain(d): v for d, v in function.opset_imports.items()} or opsets
        for node in function.nodes:
            yield node, versions
            yield from ((inner, versions) for body in _bodies(node) for inner in _nodes_in(body))


def _nodes_in(graph: OnnxGraph) -> Iterator[OnnxNode]:
    stack = [graph]
    while stack:
        for node in stack.pop().nodes:
            yield node
            stack.extend(_bodies(node))


def _bodies(node: OnnxNode) -> Iterator[OnnxGraph]:
    for attribute in node.attributes.values():
        if attribute.kind == "GRAPH" and attribute.value is not None:
            yield attribute.value  # type: ignore[misc]
        elif attribute.kind == "GRAPHS":
            yield from attribute.value or ()  # type: ignore[misc]


def reordered(model: OnnxModel) -> dict[int, list[OnnxNode]]:
    """The nodes of graphs (by id) that stand in the file before what they read, in an order that works.

    Raises:
        ModelFormatError: for a cycle, or a name that two nodes give.
    """
    found = {}
    stack = [model.graph]
    while stack:
        graph = stack.pop()
        nodes = sorted_nodes(graph)
        if any(a is not b for a, b in zip(nodes, graph.nodes)):
            found[id(graph)] = nodes
        stack.extend(body for node in nodes for body in _bodies(node))
    return found


def sorted_nodes(graph: OnnxGraph) -> list[OnnxNode]:
    """The nodes so that each comes after those that it reads; the file's order is kept where it allows.

    Raises:
        ModelFormatError: for a cycle, or a name that two nodes give.
    """
    from .state import node_reads

    producer: dict[str, int] = {}
    for i, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            if name in producer:
                raise ModelFormatError(f"two nodes of graph {graph.name!r} give {name!r}")
            producer[name] = i
    waits = [sorted({producer[r] for r in node_reads(n) if r in producer}) for n in graph.nodes]
    if all(w[-1] < i for i, w in enumerate(waits) if w):
        return list(graph.nodes)
    return [graph.nodes[i] for i in _topological(waits, graph)]


def _topological(waits: list[list[int]], graph: OnnxGraph) -> list[int]:
    done: dict[int, bool] = {}
    order: list[int] = []
    for root in range(len(waits)):
        stack = [root]
        while stack:
            i = stack[-1]
            if done.get(i):
                stack.pop()
                continue
            open_ = [w for w in waits[i] if not done.get(w)]
            if i in done and open_:
                node = graph.nodes[i]
                raise ModelFormatError(f"node {node.name or node.op_type!r} depends on its own output")
            done[i] = not open_
            if open_:
                stack.extend(reversed(open_))
            else:
                order.append(stack.pop())
    return order


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _shortened(labels: list[str]) -> str:
    shown = ", ".join(map(repr, labels[:8]))
    return shown + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
