"""Patterns over a graph: data that says which nodes, above one another, a rewrite is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from ..ir import Node, Value
from .context import Context


@dataclass(frozen=True, slots=True)
class ConstantPattern:
    """A constant, bound to ``name``."""

    name: str


@dataclass(frozen=True, slots=True)
class NumberPattern:
    """A constant all of whose elements are one number that passes ``test``, bound to ``name``."""

    name: str
    test: Callable[[float | int], bool] | None


@dataclass(frozen=True, slots=True)
class OpPattern:
    """A node of one of ``ops``, bound to ``name``; ``args`` match its first operands, no ``args`` match any.

    Where it ``commutes`` its two arguments match in either order, the first order that fits being taken.
    """

    ops: tuple[str, ...]
    args: tuple[Pattern, ...]
    name: str
    commutes: bool = False


Pattern = str | ConstantPattern | NumberPattern | OpPattern
"""A text binds any operand; bound again, it must be the same operand."""


def op(ops: str | tuple[str, ...], *args: Pattern, name: str = "", commutes: bool = False) -> OpPattern:
    """A node of an operator, or one of several."""
    return OpPattern((ops,) if isinstance(ops, str) else ops, args, name, commutes)


def constant(name: str) -> ConstantPattern:
    """Any constant."""
    return ConstantPattern(name)


def number(name: str, test: Callable[[float | int], bool] | None = None) -> NumberPattern:
    """A constant all of whose elements are one number."""
    return NumberPattern(name, test)


class Surroundings(Protocol):
    """What a match asks about the graph."""

    context: Context

    def producer(self, value: Value) -> Node | None:
        """The node that makes a value."""

    def uses(self, value: Value) -> int:
        """At least the number of times that nodes and outputs read a value."""


@dataclass(slots=True)
class Match:
    """What a pattern bound: operands, constants' numbers and nodes by name; the matched nodes, root first."""

    graph: Surroundings
    root: Node
    values: dict[str, Value] = field(default_factory=dict)
    named: dict[str, Node] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def node(self, name: str) -> Node:
        """The node bound to a name."""
        return self.named[name]

    def number(self, name: str) -> float | int:
        """The number that every element of a bound constant is."""
        found = self.graph.context.number(self.values[name])
        if found is None:
            raise KeyError(f"{name} is bound to {self.values[name]!r}, which is no one number")
        return found

    @property
    def output(self) -> Value:
        """The only output of the root."""
        return self.root.output

    def alone(self, name: str) -> bool:
        """Whether the outputs of a bound node are read once only, so that the node goes away with the root."""
        return all(self.graph.uses(v) <= 1 for v in self.named[name].outputs)


def match(pattern: OpPattern, node: Node, graph: Surroundings) -> Match | None:
    """The bindings of a pattern whose root is ``node``, or None if it does not fit."""
    if pattern.args and not _may_match(pattern, node, graph):
        return None
    found = Match(graph, node)
    return found if _match_node(pattern, node, found) else None


def _may_match(pattern: OpPattern, node: Node, graph: Surroundings) -> bool:
    """Whether the operands are of the kinds that a pattern wants: a quick look, for most patterns fit nowhere."""
    pairs = zip(pattern.args, node.inputs)
    if all(isinstance(p, str) or _is_of_kind(p, v, graph) for p, v in pairs):
        return True
    return pattern.commutes and all(_is_of_kind(p, v, graph) for p, v in zip(pattern.args, reversed(node.inputs)))


def _is_of_kind(pattern: Pattern, value: Value | None, graph: Surroundings) -> bool:
    if isinstance(pattern, str):
        return True
    if not isinstance(pattern, OpPattern):
        return value is not None and value.constant is not None
    producer = None if value is None else graph.producer(value)
    return producer is not None and producer.op in pattern.ops


def _match_node(pattern: OpPattern, node: Node, found: Match) -> bool:
    if node.op not in pattern.ops:
        return False
    found.nodes.append(node)
    if pattern.name:
        found.named[pattern.name] = node
    if not pattern.args:
        return True
    if pattern.commutes:
        first, second = pattern.args
        return _match_either(first, second, node, found)
    if len(node.inputs) < len(pattern.args):
        return False
    return all(_match_value(p, v, found) for p, v in zip(pattern.args, node.inputs))


def _match_either(first: Pattern, second: Pattern, node: Node, found: Match) -> bool:
    saved = dict(found.values), dict(found.named), list(found.nodes)
    a, b = node.inputs
    if _match_value(first, a, found) and _match_value(second, b, found):
        return True
    found.values, found.named, found.nodes = saved
    return _match_value(first, b, found) and _match_value(second, a, found)


def _match_value(pattern: Pattern, value: Value | None, found: Match) -> bool:
    if value is None:
        return False
    if isinstance(pattern, OpPattern):
        producer = found.graph.producer(value)
        return producer is not None and _match_node(pattern, producer, found)
    if isinstance(pattern, str):
        name = pattern
    else:
        name = pattern.name
        if not value.is_constant:
            return False
        if isinstance(pattern, NumberPattern):
            repeated = found.graph.context.number(value)
            if repeated is None or (pattern.test is not None and not pattern.test(repeated)):
                return False
    return found.values.setdefault(name, value) is value
