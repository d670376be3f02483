"""The pipeline's graphs as lists of records, and what each pass did to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..ir import FUSED, Graph, Node, Value
from ..pipeline import PASSES, Stage
from .records import Records

__all__ = ["stages_of"]

FIRST = "as built"
"""The name of the graph before all passes."""


def stages_of(graph: Graph, stages: Sequence[Stage], records: Records) -> list[dict[str, Any]]:
    """The graph before the passes and after each, with the nodes that the pass removed, added and changed.

    ``nodes`` is left out where a pass changed nothing. ``became`` tells for a removed node those that stand in its
    place, as far as passes told whose label a new node takes on.
    """
    why = {each.name: each.why for each in PASSES}
    found = [{"name": FIRST, "why": "the graph that the passes are given", **_content(graph, None, records)}]
    nodes: list[int] = found[0]["nodes"]
    previous = graph
    for stage in stages:
        entry: dict[str, Any] = {
            "name": stage.name,
            "why": why[stage.name],
            "seconds": round(stage.seconds, 6),
            "rewrites": dict(Counter(rewrite.partition(" at ")[0] for rewrite in stage.rewrites)),
        }
        content = _content(stage.graph, previous, records)
        entry |= _difference(nodes, content["nodes"], records)
        nodes, previous = content["nodes"], stage.graph
        if entry["added"] or entry["removed"] or entry["changed"] or content["nodes"] != _last_nodes(found):
            entry["nodes"] = content["nodes"]
        entry["outputs"] = content["outputs"]
        found.append(entry)
    return found


def _last_nodes(found: Sequence[dict[str, Any]]) -> list[int]:
    nodes: list[int] = next(entry["nodes"] for entry in reversed(found) if "nodes" in entry)
    return nodes


def _content(graph: Graph, previous: Graph | None, records: Records) -> dict[str, Any]:
    inside = _Inside(previous, records)
    return {
        "nodes": [records.node(node, partial(inside.of, node) if node.op == FUSED else None) for node in graph.nodes],
        "outputs": [[name, records.value(v)] for name, v in graph.outputs],
    }


class _Inside:
    """Finds the nodes of the graph before that are inside a fused one, whose body holds copies of them."""

    def __init__(self, previous: Graph | None, records: Records) -> None:
        self._producers = previous.producers() if previous is not None else {}
        self._records = records

    def of(self, node: Node, body: Graph) -> list[int]:
        """The numbers of what a fused node computes, in its body's order."""
        outer: dict[Value, Value] = dict(zip(body.inputs, node.present))
        outer |= {inner: v for (_, inner), v in zip(body.outputs, node.outputs)}
        found: dict[Node, Node] = {}
        for inner in reversed(body.nodes):
            known = next((outer[v] for v in inner.outputs if v in outer), None)
            original = self._producers.get(known) if known is not None else None
            if original is None or original.op != inner.op or len(original.inputs) != len(inner.inputs):
                return [self._records.node(each) for each in body.nodes]
            found[inner] = original
            for a, b in zip(inner.inputs, original.inputs):
                if a is not None and b is not None:
                    outer[a] = b
        return [self._records.node(found[inner]) for inner in body.nodes]


def _difference(before: Sequence[int], after: Sequence[int], records: Records) -> dict[str, Any]:
    """What was removed, added, and changed (pairs) between two lists of nodes."""
    old, new = set(before), set(after)
    gone = [n for n in before if n not in new]
    come = [n for n in after if n not in old]
    changed: list[list[int]] = []
    for key in (_first_output, _own):
        places = {k: n for n in gone if (k := key(records.nodes[n])) is not None}
        for n in come:
            partner = places.get(key(records.nodes[n]))
            if partner is not None and (records.nodes[n]["op"] == FUSED) == (records.nodes[partner]["op"] == FUSED):
                changed.append([partner, n])
                del places[key(records.nodes[partner])]
        taken = {n for pair in changed for n in pair}
        gone, come = [n for n in gone if n not in taken], [n for n in come if n not in taken]
    return {
        "removed": gone,
        "added": come,
        "changed": sorted(changed, key=lambda pair: pair[1]),
        "became": _became(gone, [*come, *(pair[1] for pair in changed)], records),
    }


def _first_output(entry: dict[str, Any]) -> Any:
    return entry["out"][0] if entry["out"] else None


def _own(entry: dict[str, Any]) -> Any:
    return entry.get("own")


def _became(gone: Sequence[int], come: Sequence[int], records: Records) -> list[list[Any]]:
    """Pairs of a removed node and the new ones that hold it, or else take on one of its labels."""
    holders: dict[int, list[int]] = {}
    takers: dict[int, list[int]] = {}
    for n in come:
        for inner in records.nodes[n].get("body", ()):
            holders.setdefault(inner, []).append(n)
        for user in records.nodes[n]["users"]:
            takers.setdefault(user, []).append(n)
    pairs: list[list[Any]] = []
    for n in gone:
        into = holders.get(n) or list(dict.fromkeys(t for u in records.nodes[n]["users"] for t in takers.get(u, ())))
        if into:
            pairs.append([n, into])
    return pairs
