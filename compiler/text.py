"""The text form of a graph: deterministic, one node a line, for people, tests and diffs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from .ir import FUSED, Constants, Graph, Node, Value

_SHOWN_ELEMENTS = 4


def print_graph(graph: Graph, constants: Constants | None = None) -> str:
    """The text of a graph; small constants show their values when ``constants`` is given.

    Values are numbered in order of appearance, so that equal graphs print equal texts.
    """
    return "\n".join(_Printer(constants).graph(graph, "")) + "\n"


def diff_graphs(before: Graph, after: Graph, constants: Constants | None = None) -> str:
    """A unified diff of two graphs' texts, empty if they print alike."""
    a, b = (print_graph(g, constants).splitlines() for g in (before, after))
    return "\n".join(list(difflib.unified_diff(a, b, lineterm="", n=1))[2:])


class _Printer:
    def __init__(self, constants: Constants | None) -> None:
        self.constants = constants
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()

    def graph(self, graph: Graph, indent: str) -> list[str]:
        inputs = ", ".join(f"{self.define(v)}: {v.type}" for v in graph.inputs)
        lines = [f"{indent}graph{f' {graph.name}' if graph.name else ''}({inputs}) {{"]
        for v in graph.constants():
            if v not in self.names:
                lines.append(f"{indent}  {self.define(v, 'c')} = constant {v.type}{self.data(v)}")
        for node in graph.nodes:
            lines += self.node(node, indent + "  ")
        lines.append(f"{indent}  return {', '.join(f'{name}={self.use(v)}' for name, v in graph.outputs)}")
        return [*lines, indent + "}"]

    def node(self, node: Node, indent: str) -> list[str]:
        inputs = ", ".join("_" if v is None else self.use(v) for v in node.inputs)
        outputs = ", ".join(self.define(v) for v in node.outputs)
        types = ", ".join(str(v.type) for v in node.outputs)
        attrs = self.attrs({k: v for k, v in node.attrs.items() if k != "body"})
        note = "".join(f" {part}" for part in (_label(node), f"<{node.origin[-1]}>" if node.origin else "") if part)
        head = f"{indent}{outputs} = {node.op}({inputs}){attrs}: {types}{note}"
        if node.op != FUSED:
            return [head]
        inner = _Printer(self.constants)
        return [head, *inner.graph(node.body, indent + "  ")]

    def define(self, value: Value, prefix: str = "") -> str:
        base = value.name if value.name and value.name.isidentifier() and not prefix else prefix or "v"
        name = f"%{base}" if base not in ("v", "c") else f"%{base}{len(self.names)}"
        if name in self.taken:
            name = f"{name}.{len(self.names)}"
        self.taken.add(name)
        self.names[value] = name
        return name

    def use(self, value: Value) -> str:
        return self.names.get(value) or f"%?{value.name}"

    def attrs(self, attrs: Mapping[str, Any]) -> str:
        shown = [f"{k}={_attr(v)}" for k, v in sorted(attrs.items()) if v is not None]
        return f" [{', '.join(shown)}]" if shown else ""

    def data(self, value: Value) -> str:
        if self.constants is None:
            return ""
        array = self.constants.array(value)
        if array.size > _SHOWN_ELEMENTS:
            return ""
        return f" {{{', '.join(f'{x:g}' if array.dtype.kind == 'f' else str(x) for x in array.reshape(-1))}}}"


def _label(node: Node) -> str:
    names = node.labels()
    return f'"{", ".join(names)}"' if names else ""


def _attr(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_attr(v) for v in value)})"
    return f"{value:g}" if isinstance(value, float) else str(value)
