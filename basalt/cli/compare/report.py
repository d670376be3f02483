"""Prints what a comparison found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from basalt.cli.models import shape_text
from basalt.cli.output import print_json, print_table

from .comparison import Comparison, Located
from .differences import Difference, difference
from .search import Finding, Pair
from .sources import Key, NodeView, Operand

__all__ = ["print_report"]


def print_report(comparison: Comparison, located: Located | None, as_json: bool) -> None:
    """Print each output's difference, the verdict, and the first node that differs."""
    if as_json:
        print_json(_description(comparison, located))
        return
    columns = ["output", "data type", "shape", "max difference", "of scale", "ULP", "beyond", "first at", "verdict"]
    rows = [[name, *_cells(found)] for name, found in comparison.differences.items()]
    print_table(columns, rows, right=["max difference", "of scale", "ULP", "beyond"])
    differing = sum(not each.agrees for each in comparison.differences.values())
    count = len(rows)
    of = f"{count} output{'s'[: count != 1]}"
    names = f"{comparison.left.name} and {comparison.right.name}"
    if located is None:
        print(f"\n{names}: {of} agree{'s'[: count == 1]} within {_limits_text(comparison)}")
        return
    print(f"\n{names}: {differing} of {of} differ{'s'[: differing == 1]} beyond {_limits_text(comparison)}")
    print(*_lines(comparison, located), sep="\n")


def _limits_text(comparison: Comparison) -> str:
    limits = comparison.limits
    if limits.atol is None and limits.rtol is None:
        return f"{limits.tolerance:g} of an output's scale"
    return f"{limits.atol or 0:g} + {limits.rtol or 0:g} |b|"


def _cells(found: Difference) -> list[str]:
    largest = "" if found.largest is None else f"{found.largest:.3g}"
    scaled = "" if found.scaled is None else f"{found.scaled:.1e}"
    if found.verdict == "shape":
        counts = ["", "", "", "", ""]
    else:
        first = "" if found.first is None else _index_text(found.first)
        ulps = "" if found.ulps is None else f"{found.ulps:,}" if found.ulps < 10**7 else f"{found.ulps:.1e}"
        counts = [largest, scaled, ulps, f"{found.beyond:,}", first]
    return [_both(*found.dtypes), _both(*map(shape_text, found.shapes)), *counts, _verdict_text(found)]


def _both(left: str, right: str) -> str:
    return left if left == right else f"{left}, not {right}"


def _index_text(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"


def _verdict_text(found: Difference) -> str:
    if found.verdict in ("shape", "data type"):
        return f"other {found.verdict}"
    extra = [f"{n:,} {what} in one only" for n, what in ((found.nan, "NaN"), (found.inf, "infinite")) if n]
    return f"{found.verdict}: {', '.join(extra)}" if extra else found.verdict


def _lines(comparison: Comparison, located: Located) -> Iterator[str]:
    """Where the difference begins, for people."""
    finding, pairing = located.finding, located.pairing
    if finding is None or pairing is None:
        yield f"the first node that differs is not known: {located.why}"
        return
    before = _node_text(comparison, finding.before)
    if not finding.all_observed:
        yield "no node differs while all results are outputs, which keeps operators from being computed together"
    if finding.first is None:
        yield f"all nodes that can be compared agree, {before} last; the difference arises after it"
        yield f"nodes are paired: {pairing.how}"
        return
    text = _node_text(comparison, finding.first)
    if finding.exact:
        yield f"first node that differs: {text}"
    else:
        start = f"after {before}" if finding.before else "at the inputs"
        yield f"the difference begins {start} and shows at {text}"
    yield f"nodes are paired: {pairing.how}"
    node, other = _nodes(comparison, finding.first)
    for place, operand in enumerate(node.outputs):
        found = finding.observed.get(_pair_of(finding, (finding.first[0][0], place)))
        yield f"  result{f' {operand.name}' if operand.name else ''}: {_difference_text(found)}"
    for place, given in enumerate(node.inputs):
        if given is not None:
            yield f"  input {place}, {_operand_text(comparison, finding, given, _at(other, place))}"


def _at(node: NodeView, place: int) -> Operand | None:
    return node.inputs[place] if place < len(node.inputs) else None


def _nodes(comparison: Comparison, pair: Pair) -> tuple[NodeView, NodeView]:
    left, right = comparison.left.source, comparison.right.source
    assert left is not None and right is not None
    return left.nodes[pair[0][0]], right.nodes[pair[1][0]]


def _node_text(comparison: Comparison, pair: Pair | None) -> str:
    if pair is None:
        return "none"
    node, _ = _nodes(comparison, pair)
    assert comparison.left.source is not None
    label = f" {node.label!r}" if node.label else ""
    return f"{node.operator}{label}, node {pair[0][0] + 1} of {len(comparison.left.source.nodes)}"


def _pair_of(finding: Finding, key: Key | None) -> Any:
    return next((pair for pair in finding.observed if pair[0] == key), None)


def _operand_text(comparison: Comparison, finding: Finding, given: Operand, other: Operand | None) -> str:
    kind, found = _operand(comparison, finding, given, other)
    return f"{kind}{f' {given.name}' if given.name else ''}: {_difference_text(found)}"


def _operand(
    comparison: Comparison, finding: Finding, given: Operand, other: Operand | None
) -> tuple[str, Difference | None]:
    """What a node reads, and how it differs from what its counterpart reads; None where that is not known."""
    if given.key is not None:
        return "a result", finding.observed.get(_pair_of(finding, given.key))
    if given.array is None:
        return "an input of the model", _of_inputs(comparison, given, other)
    array = None if other is None else other.array
    return "a constant", None if array is None else difference(given.array, array, comparison.limits)


def _of_inputs(comparison: Comparison, given: Operand, other: Operand | None) -> Difference | None:
    """Equal, unless the counterpart reads another input, or none."""
    feeds = comparison.feeds
    if other is None or given.name not in feeds or other.name not in feeds:
        return None
    return difference(feeds[given.name], feeds[other.name], comparison.limits)


def _difference_text(found: Difference | None) -> str:
    if found is None:
        return "not compared"
    what = f"{_both(*found.dtypes)} {_both(*map(shape_text, found.shapes))}"
    if found.verdict == "equal":
        return f"{what}, equal"
    if found.verdict in ("shape", "data type"):
        return f"{what}, differs"
    size = "" if found.scaled is None else f" by {found.scaled:.1e} of its scale"
    if found.agrees:
        return f"{what}, agrees{size.replace(' by ', ' within ')}"
    total = int(np.prod(found.shapes[0]))
    where = (
        f"{found.beyond:,} of {total:,} elements beyond the tolerance, the first at {_index_text(found.first or ())}"
    )
    return f"{what}, differs{size}, {where}"


def _description(comparison: Comparison, located: Located | None) -> dict[str, Any]:
    limits = comparison.limits
    return {
        "model": comparison.left.name,
        "other": comparison.right.name,
        "shapes": comparison.sizes.shapes,
        "tolerance": limits.tolerance if limits.atol is None and limits.rtol is None else None,
        "atol": limits.atol,
        "rtol": limits.rtol,
        "agree": comparison.agrees,
        "outputs": [{"name": name} | _entry(found) for name, found in comparison.differences.items()],
        "first_difference": None if located is None else _located_entry(comparison, located),
    }


def _entry(found: Difference | None) -> dict[str, Any]:
    if found is None:
        return {"verdict": None}
    return {
        "verdict": found.verdict,
        "dtypes": list(found.dtypes),
        "shapes": [list(shape) for shape in found.shapes],
        "max_difference": found.largest,
        "of_scale": found.scaled,
        "ulps": found.ulps,
        "unequal": found.unequal,
        "beyond": found.beyond,
        "nan": found.nan,
        "inf": found.inf,
        "first": None if found.first is None else list(found.first),
    }


def _located_entry(comparison: Comparison, located: Located) -> dict[str, Any]:
    finding, pairing = located.finding, located.pairing
    entry: dict[str, Any] = {"paired": pairing.how if pairing else None, "why_unknown": located.why or None}
    if finding is None:
        return entry | {"node": None}
    entry |= {"exact": finding.exact, "all_observed": finding.all_observed}
    entry["last_that_agrees"] = None if finding.before is None else _node_entry(comparison, finding.before)
    if finding.first is None:
        return entry | {"node": None}
    node, other = _nodes(comparison, finding.first)
    inputs = [
        None if given is None else _operand_entry(*_operand(comparison, finding, given, _at(other, place)), given.name)
        for place, given in enumerate(node.inputs)
    ]
    results = [
        {"name": operand.name} | _entry(finding.observed.get(_pair_of(finding, (finding.first[0][0], place))))
        for place, operand in enumerate(node.outputs)
    ]
    return entry | {"node": _node_entry(comparison, finding.first) | {"results": results, "inputs": inputs}}


def _operand_entry(kind: str, found: Difference | None, name: str) -> dict[str, Any]:
    return {"name": name, "kind": kind.removeprefix("a ").removeprefix("an ")} | _entry(found)


def _node_entry(comparison: Comparison, pair: Pair) -> dict[str, Any]:
    node, _ = _nodes(comparison, pair)
    return {"index": pair[0][0], "operator": node.operator, "label": node.label}
