"""Powers of what is at most 0, since the row's largest element was subtracted: those of a softmax."""

from __future__ import annotations

from dataclasses import dataclass

from ..codegen.rows import RowGroup
from ..ir import Node, Value

__all__ = ["Falling"]

_CARRIERS = frozenset({"sub", "add", "mul", "div", "exp", "log", "reciprocal", "cast", "reduce_sum"})
"""Operators that make NaN of NaN."""


@dataclass(frozen=True)
class Falling:
    """What a kernel of rows may compute in fewer instructions than exp and the largest of numbers take."""

    powers: frozenset[Node]
    """Each exp of an operand minus the largest element of its row."""
    largest: frozenset[Node]
    """Each reduce_max that may give anything where there is a NaN: a sum of powers makes NaN of all results."""

    @staticmethod
    def of(group: RowGroup) -> Falling:
        """The operators of a group that are of such a kind."""
        made = {node.output: node for node in group.nodes}
        powers = frozenset(n for n in group.nodes if n.op == "exp" and _largest_of(made, n) is not None)
        found = {_largest_of(made, n) for n in powers}
        return Falling(powers, frozenset(n for n in found if n is not None and _spreads_nan(group, n, powers)))


def _largest_of(made: dict[Value, Node], power: Node) -> Node | None:
    """The reduce_max of x whose result is subtracted from x to make the operand of an exp."""
    difference = made.get(power.present[0])
    if difference is None or difference.op != "sub":
        return None
    x, subtracted = difference.present
    largest = made.get(subtracted)
    return largest if largest is not None and largest.op == "reduce_max" and largest.present[0] is x else None


def _spreads_nan(group: RowGroup, largest: Node, powers: frozenset[Node]) -> bool:
    """Whether whatever is computed of the largest element becomes NaN by a sum of powers as well."""
    reached: set[Value] = {largest.output}
    poisoned: set[Value] = set()
    for node in group.nodes:
        if not reached.isdisjoint(node.present):
            if node.op not in _CARRIERS:
                return False
            reached.update(node.outputs)
        sums = node.op == "reduce_sum" and any(node.present[0] is power.output for power in powers)
        if sums or not poisoned.isdisjoint(node.present):
            poisoned.update(node.outputs)
    return all(value in poisoned for value, _ in group.outputs if value in reached)
