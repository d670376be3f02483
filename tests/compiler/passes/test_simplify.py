"""Each rewrite of the pass simplify: the graph that it makes, its exactness, and where it must not apply."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.rewriting import Rewrite
from basalt.compiler.passes.simplify import REWRITES, simplify
from basalt.compiler.verify import verify
from basalt.errors import BasaltError

from ..graphs import assert_identical, assert_near
from . import expected
from .examples import Example, Refusal, built, rewritten, shown, special_feeds
from .simplify_examples import EXAMPLES

APPLY = [e for e in EXAMPLES if isinstance(e, Example)]
REFUSE = [e for e in EXAMPLES if isinstance(e, Refusal)]
_BY_NAME = {r.name: r for r in REWRITES}


def names(examples: list[Example] | list[Refusal]) -> list[str]:
    """The rewrite's name for each, numbered where there are several."""
    count: Counter[str] = Counter()
    for e in examples:
        count[e.rewrite] += 1
    seen: Counter[str] = Counter()
    result = []
    for e in examples:
        seen[e.rewrite] += 1
        result.append(e.rewrite + (f" {seen[e.rewrite]}" if count[e.rewrite] > 1 else ""))
    return result


def test_every_rewrite_has_an_example() -> None:
    assert {e.rewrite for e in APPLY} == set(_BY_NAME)


@pytest.mark.parametrize(
    ("rule", "place"), [(r, i) for r in REWRITES for i in range(len(r.guards))], ids=lambda x: getattr(x, "name", x)
)
def test_every_guard_is_needed(rule: Rewrite, place: int) -> None:
    """Some graph that must stay as it is would be rewritten, or the rewrite would fail, without the guard."""
    open_rule = replace(rule, guards=rule.guards[:place] + rule.guards[place + 1 :])
    assert any(_applies(e, open_rule) for e in REFUSE if e.rewrite == rule.name)


def _applies(example: Refusal, rule: Rewrite) -> bool:
    try:
        before, after, _ = rewritten(example, [rule], "simplify")
    except (BasaltError, KeyError, AssertionError):
        return True
    return after is not before


def test_every_remark_is_one_of_a_guard() -> None:
    assert {(e.rewrite, e.remark) for e in REFUSE} == {(r.name, remark) for r in REWRITES for remark, _ in r.guards}


def test_graphs_are_as_expected() -> None:
    texts = {}
    for name, example in zip(names(APPLY), APPLY):
        before, after, context = rewritten(example, REWRITES, "simplify")
        texts[name] = f"{shown(before, context)}\n\n{shown(after, context)}"
    expected.check("simplify", texts)


@pytest.mark.parametrize("example", APPLY, ids=names(APPLY))
def test_results_stay(example: Example) -> None:
    before, after, context = rewritten(example, REWRITES, "simplify")
    assert after is not before
    verify(after, context.constants)
    for seed in range(10):
        feeds = special_feeds(before, seed)
        results = [interpret(g, context.constants, feeds) for g in (before, after)]
        if _BY_NAME[example.rewrite].exact:
            assert_identical(*results)
        else:
            assert_near(*results, 1e-6)


@pytest.mark.parametrize("example", REFUSE, ids=names(REFUSE))
def test_graph_stays_where_the_rewrite_does_not_hold(example: Refusal) -> None:
    before, after, context = rewritten(example, REWRITES, "simplify")
    assert after is before
    assert [note.partition(": ")[2].rpartition(": ")[2] for note in context.notes] == [example.remark] * bool(
        example.remark
    )


def test_rewrites_keep_labels_and_origin() -> None:
    graph, m = built(
        Example("", lambda m: m.neg(m.relu(m.clamp(m.input("x", "float32", (2,)), max_value=6, label="a"), label="b")))
    )
    merged, last = simplify(graph, Context(m.constants)).nodes
    assert (merged.op, merged.origin, merged.labels()) == ("clamp", ("simplify",), ("b", "a"))
    assert (last.op, last.origin, last.labels()) == ("neg", (), ())


def test_array_of_the_operand_is_not_written() -> None:
    """Folding in a rewrite makes new constants and leaves the old ones."""
    example = next(e for e in APPLY if e.rewrite == "add_chain")
    before, _, context = rewritten(example, REWRITES, "simplify")
    arrays = [context.constants.array(v) for v in before.constants()]
    assert [a.reshape(-1).tolist() for a in arrays] == [[5], [2**31 - 1]]
    assert all(not a.flags.writeable for a in arrays)
    assert np.shares_memory(arrays[0], context.constants.array(before.constants()[0]))
