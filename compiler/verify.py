"""The verifier: a list of rules that every graph keeps, between any two passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from basalt import ops
from basalt.errors import BasaltError

from .ir import FUSED, Constants, Graph, Value


class VerifyError(BasaltError):
    """A graph that breaks a rule; the message names the pass, the rule and the node."""


Rule = Callable[[Graph, Constants], Iterator[str]]
RULES: list[Rule] = []


def _rule(function: Rule) -> Rule:
    RULES.append(function)
    return function


def verify(graph: Graph, constants: Constants, after: str = "build") -> None:
    """Check every rule.

    Args:
        graph: the graph to check, and the bodies of its fused nodes.
        constants: the arrays beside it.
        after: the pass that made it, for the message.

    Raises:
        VerifyError: listing every broken rule.
    """
    broken = [f"{rule.__name__.strip('_')}: {fault}" for rule in RULES for fault in rule(graph, constants)]
    if broken:
        raise VerifyError(f"after {after}, the graph is not valid:\n  " + "\n  ".join(broken[:20]))


@_rule
def _defined_before_use(graph: Graph, constants: Constants) -> Iterator[str]:
    defined = set(graph.inputs)
    for node in graph.nodes:
        for v in node.present:
            if not v.is_constant and v not in defined:
                yield f"{node!r} reads {v!r}, which nothing before it makes"
        defined.update(node.outputs)
    for name, v in graph.outputs:
        if not v.is_constant and v not in defined:
            yield f"output {name} is {v!r}, which nothing makes"


@_rule
def _defined_once(graph: Graph, constants: Constants) -> Iterator[str]:
    seen: set[Value] = set(graph.inputs)
    for node in graph.nodes:
        for v in node.outputs:
            if v in seen or v.is_constant:
                yield f"{node!r} makes {v!r} again"
            seen.add(v)


@_rule
def _unique_names(graph: Graph, constants: Constants) -> Iterator[str]:
    for kind, names in (("input", [v.name for v in graph.inputs]), ("output", [n for n, _ in graph.outputs])):
        for name in {n for n in names if names.count(n) > 1}:
            yield f"{kind} name {name!r} is used twice"


@_rule
def _constants_match(graph: Graph, constants: Constants) -> Iterator[str]:
    for v in graph.constants():
        array = constants.array(v)
        if (array.shape, ops.dtype_name(array.dtype)) != (v.shape, v.dtype):
            yield f"{v!r} is {array.dtype.name}{list(array.shape)} in the store"


@_rule
def _types_follow(graph: Graph, constants: Constants) -> Iterator[str]:
    for node in graph.nodes:
        if node.op == FUSED:
            continue
        given = tuple(v.type for v in node.outputs)
        try:
            types = [None if v is None else v.type for v in node.inputs]
            inferred, _ = ops.get(node.op).check(types, node.attrs, extended=True)
        except KeyError:
            yield f"{node!r}: operator {node.op!r} is not registered"
        except BasaltError as error:
            yield f"{node!r}: {error}"
        else:
            if inferred != given:
                yield f"{node!r} has outputs {_types(given)}, the operator's rule gives {_types(inferred)}"


@_rule
def _fused_bodies(graph: Graph, constants: Constants) -> Iterator[str]:
    for node in graph.nodes:
        if node.op != FUSED:
            continue
        body = node.body
        if [v.type for v in node.present] != [v.type for v in body.inputs]:
            yield f"{node!r}: operand types differ from its body's inputs"
        if [v.type for v in node.outputs] != [v.type for _, v in body.outputs]:
            yield f"{node!r}: output types differ from its body's outputs"
        for rule in RULES:
            yield from (f"in the body of {node!r}: {fault}" for fault in rule(body, constants))


def _types(types: tuple[Any, ...]) -> str:
    return ", ".join(map(str, types))
