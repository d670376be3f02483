"""Rewrites, each a declaration of pattern, guards and replacement, and their application until nothing changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from basalt.errors import BasaltError

from ..ir import Graph, Node, Value
from .context import Context
from .dead_code import remove_dead_nodes
from .emitter import Emitter
from .patterns import Match, OpPattern, match

Result = Callable[[Match, Emitter], Value | tuple[Value, ...]]
Guard = tuple[str, Callable[[Match], bool]]
"""What must hold for a rewrite to apply: a remark that says what is wrong if it does not, and the test.

The remark is empty where the pattern alone is no reason to expect the rewrite.
"""

_MAX_ROUNDS = 8
_MAX_DEPTH = 16


class RewriteError(BasaltError):
    """A rewrite that replaces a value by one of another type."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Nodes to replace by others that compute the same.

    ``exact`` says that the results are equal to the bit, NaN and infinities and the signs of zeros included; otherwise
    they differ by rounding.
    """

    name: str
    pattern: OpPattern
    guards: tuple[Guard, ...]
    result: Result
    exact: bool
    reason: str

    def refusal(self, found: Match) -> str | None:
        """Why the rewrite does not apply where its pattern does; None if it does."""
        return next((remark for remark, holds in self.guards if not holds(found)), None)


def rewrite(pattern: OpPattern, *guards: Guard, exact: bool = True) -> Callable[[Result], Rewrite]:
    """Declare a rewrite by the function that makes the replacement; its name and docstring become the rewrite's."""

    def declare(result: Result) -> Rewrite:
        reason = (result.__doc__ or "").strip()
        if not reason:
            raise TypeError(f"rewrite {result.__name__} does not say in its docstring why it holds")
        return Rewrite(result.__name__, pattern, guards, result, exact, reason)

    return declare


def only_if(holds: Callable[[Match], bool]) -> Guard:
    """A guard that is part of the pattern: that it does not hold is nothing to remark."""
    return "", holds


Rules = Mapping[str, Sequence[Rewrite]]
"""Rewrites by the operator of their root."""


def index(rewrites: Iterable[Rewrite]) -> Rules:
    """Rewrites by the operator of their root, in order of declaration.

    Raises:
        ValueError: for two rewrites of one name.
    """
    rules: dict[str, list[Rewrite]] = {}
    names: set[str] = set()
    for each in rewrites:
        if each.name in names:
            raise ValueError(f"two rewrites are called {each.name}")
        names.add(each.name)
        for root in each.pattern.ops:
            rules.setdefault(root, []).append(each)
    return rules


def apply_rewrites(graph: Graph, context: Context, rules: Rules, origin: str, rounds: int = _MAX_ROUNDS) -> Graph:
    """Apply rewrites wherever they fit, until none does or after ``rounds`` walks through the graph.

    Nodes that nothing depends on are removed first: their reads would count as other uses of a value. A walk goes along
    the nodes' order and rewrites new nodes again at once, so that a second walk finds only what nodes without readers
    had hidden. Each walk takes time proportional to the number of nodes.
    """
    graph = remove_dead_nodes(graph)
    for _ in range(rounds):
        walk = _Walk(graph, context, rules, origin)
        graph = walk.result()
        if not walk.changed:
            break
        graph = remove_dead_nodes(graph)
    return graph


class _Walk:
    """One walk through a graph: the surroundings that matches see, as far as they are rewritten."""

    def __init__(self, graph: Graph, context: Context, rules: Rules, origin: str) -> None:
        self.graph = graph
        self.context = context
        self.rules = rules
        self.origin = origin
        self.changed = False
        self._nodes: list[Node] = []
        self._producers: dict[Value, Node] = {}
        self._replaced: dict[Value | None, Value] = {}
        self._uses = Counter(v for node in graph.nodes for v in node.present)
        self._uses.update(v for _, v in graph.outputs)

    def producer(self, value: Value) -> Node | None:
        return self._producers.get(value)

    def uses(self, value: Value) -> int:
        return self._uses[value]

    def result(self) -> Graph:
        for node in self.graph.nodes:
            self._visit(node, 0)
        if not self.changed:
            return self.graph
        return self.graph.with_nodes(self._nodes, [(name, self._final(v)) for name, v in self.graph.outputs])

    def _final(self, value: Value) -> Value:
        while (following := self._replaced.get(value)) is not None:
            value = following
        return value

    def _visit(self, node: Node, depth: int) -> None:
        if self._replaced and any(v in self._replaced for v in node.inputs):
            node = replace(node, inputs=tuple(None if v is None else self._final(v) for v in node.inputs))
        for rule in self.rules.get(node.op, ()):
            if depth < _MAX_DEPTH and self._apply(rule, node, depth):
                return
        self._nodes.append(node)
        for v in node.outputs:
            self._producers[v] = node

    def _apply(self, rule: Rewrite, node: Node, depth: int) -> bool:
        found = match(rule.pattern, node, self)
        if found is None:
            return False
        refusal = rule.refusal(found)
        if refusal is not None:
            if refusal:
                self.context.note(f"{rule.name} does not apply to {node!r}: {refusal}")
            return False
        if not self.context.allow(f"{rule.name} at {node!r}"):
            return False
        emitter = Emitter(self.context, self.origin, found.nodes)
        given = rule.result(found, emitter)
        self._put(rule, node, (given,) if isinstance(given, Value) else given, emitter.nodes, depth)
        return True

    def _put(self, rule: Rewrite, node: Node, values: tuple[Value, ...], made: list[Node], depth: int) -> None:
        before, after = [v.type for v in node.outputs], [v.type for v in values]
        if before != after:
            raise RewriteError(f"{rule.name} gives {', '.join(map(str, after))} in place of {node!r}")
        self.changed = True
        self._uses.subtract(node.present)
        for new in made:
            self._uses.update(new.present)
        if made and made[-1].outputs == values:
            # The old values stay, with their names and readers, and only what makes them changes.
            made[-1] = replace(made[-1], outputs=node.outputs)
        else:
            for old, new_value in zip(node.outputs, values):
                self._uses[new_value] += self._uses[old]
                self._replaced[old] = new_value
        for new in made:
            self._visit(new, depth + 1)
