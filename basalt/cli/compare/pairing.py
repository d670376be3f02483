"""Which results of two models are to be compared with each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from .sources import Key, NodeView, Source

__all__ = ["Pairing", "pair"]

_GENERATED = re.compile(r"[vc]?[0-9]*")
"""Names of values that only number them."""


@dataclass(frozen=True)
class Pairing:
    """Results of two models that stand for each other, in the first one's topological order, and how that is known."""

    pairs: tuple[tuple[Key, Key], ...]
    how: str

    def counterpart(self) -> dict[Key, Key]:
        """The second model's result by the first one's."""
        return dict(self.pairs)


def pair(left: Source, right: Source) -> Pairing:
    """Pair the results of two models: all where they are the same graph, else those of nodes with equal names."""
    if left is right:
        return Pairing(tuple((key, key) for key in _keys(left)), "both run the same model")
    if _structure(left) == _structure(right):
        return Pairing(tuple((key, key) for key in _keys(left)), "both graphs hold the same nodes in the same order")
    known = dict(_named(right))
    pairs = tuple((key, known[name]) for name, key in _named(left) if name in known)
    nodes = len({key[0] for key, _ in pairs})
    return Pairing(pairs, f"by operator and name, which {nodes} of {len(left.nodes)} nodes share")


def _keys(source: Source) -> Iterator[Key]:
    for index, node in enumerate(source.nodes):
        yield from ((index, place) for place, output in enumerate(node.outputs) if output.key is not None)


def _structure(source: Source) -> list[Hashable]:
    """The nodes' operators and what reads what, without names, types and constants' values."""
    return [
        (node.operator, tuple(None if o is None else o.key for o in node.inputs), len(node.outputs))
        for node in source.nodes
    ]


def _named(source: Source) -> Iterator[tuple[Hashable, Key]]:
    """The results that have a name of their own by that name; a label that several nodes bear is counted."""
    seen: Counter[Hashable] = Counter()
    for index, node in enumerate(source.nodes):
        name = _name(node)
        if name is None:
            continue
        occurrence = seen[name]
        seen[name] += 1
        yield from (((name, occurrence, place), (index, place)) for place, o in enumerate(node.outputs) if o.key)


def _name(node: NodeView) -> Hashable:
    if node.label:
        return (node.operator, "label", node.label)
    given = next((o.name for o in node.outputs if o.name), "")
    return None if _GENERATED.fullmatch(given) else (node.operator, "value", given)
