"""Ensembles of trees for many rows: equal to their NumPy semantics and, bit for bit, to the kernel for a few rows."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.templates import tree_blocks, tree_ensemble, tree_plan
from basalt.compiler.templates.tree_plan import BlockPlan
from basalt.ops.extension.trees import Trees

from ...ops.extension.forests import Forest
from ..compiled.forms import EXACT, Bench
from ..compiled.running import run_compiled
from .test_tree_ensemble import call

HAS_GATHERS = tree_blocks.form() == "avx512"
ALL_MODES = tuple(range(7))


def trees_of(operands: dict[str, np.ndarray]) -> Trees:
    return Trees(**{f.name: operands.get(f.name) for f in dataclasses.fields(Trees)})  # type: ignore[arg-type]


def plan_of(forest: Forest, has_gathers: bool = HAS_GATHERS) -> BlockPlan | None:
    total = np.dtype(forest.dtype).type
    return tree_plan.plan_blocks(trees_of(forest.operands()), forest.targets, total, has_gathers)


def planned(forest: Forest) -> BlockPlan:
    plan = plan_of(forest)
    assert plan is not None
    return plan


def check(forest: Forest, rows: int, forms: tuple[str, ...] = (), **options: Any) -> None:
    """Against NumPy, and all rows at once against eight at a time; ``forms`` are those of the rows."""
    bench = Bench(Random(rows))
    given_rows = forest.rows(rows)
    x = bench.operand(given_rows, forest.dtype, forms or ("plain",))
    result = call(bench, x, forest.operands(), forest.targets, **options)
    bench.check(bench.result(result) if forms else [result], EXACT)
    whole, parts = Bench(Random(0)), []
    for at in range(0, rows, tree_ensemble.FEW_ROWS):
        few = Bench(Random(0))
        part = few.input(given_rows[at : at + tree_ensemble.FEW_ROWS], forest.dtype)
        parts.append(_run(few, call(few, part, forest.operands(), forest.targets, **options)))
    x = whole.input(given_rows, forest.dtype)
    together = _run(whole, call(whole, x, forest.operands(), forest.targets, **options))
    np.testing.assert_array_equal(together, np.concatenate(parts))


def _run(bench: Bench, result: Any) -> np.ndarray:
    graph = bench.maker.graph(y=result)
    return run_compiled(graph, bench.maker.constants, bench.feeds, optimise=False, split=False, threads=1)["y"]


@pytest.mark.parametrize("modes", [(0,), (0, 1, 2, 3), (4, 5, 6), ALL_MODES])
@pytest.mark.parametrize(("depth", "targets"), [(4, 1), (8, 3)])
def test_every_comparison(modes: tuple[int, ...], depth: int, targets: int) -> None:
    forest = Forest(5, trees=9, depth=depth, features=5, targets=targets, modes=modes, many=False)
    plan = plan_of(forest)
    assert (plan is None) == (depth > 6 and not HAS_GATHERS)
    assert plan is None or (plan.words is None) == (depth == 4)
    check(forest, 70, ("plain", "transposed"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("features", "code"), [(12, "u8"), (2, "u16")])
def test_codes_of_one_and_two_bytes(dtype: str, features: int, code: str) -> None:
    forest = Forest(1, trees=90, depth=6, features=features, targets=1, modes=(0,), many=False, dtype=dtype)
    assert planned(forest).code == code
    check(forest, 130, aggregate="average", accumulate_float64=True)


@pytest.mark.skipif(not HAS_GATHERS, reason="trees of more than 64 leaves need instructions that this CPU lacks")
@pytest.mark.parametrize(("code", "word"), [("u16", 31), ("u32", 31), ("u8", 17), ("u32", 17)])
def test_wider_codes_and_words(monkeypatch: pytest.MonkeyPatch, code: str, word: int) -> None:
    monkeypatch.setattr(tree_plan, "_code_type", lambda coded: (code, int(code[1:]) // 8))
    monkeypatch.setattr(tree_plan, "_WORD", word)
    forest = Forest(2, trees=4, depth=9, features=4, targets=1, modes=(0, 2, 6), many=False)
    plan = planned(forest)
    assert plan.code == code and plan.words is not None and plan.words.is_wide == (word < 31)
    check(forest, 70)


@pytest.mark.parametrize("targets", [2, 3, 6, 19])
def test_several_targets(targets: int) -> None:
    forest = Forest(targets, trees=5, depth=5, features=3, targets=targets, modes=(0, 3), many=False)
    assert planned(forest).width == {2: 2, 3: 4, 6: 8, 19: 24}[targets]
    check(forest, 66, aggregate="average")


def test_a_target_for_each_tree() -> None:
    forest = Forest(3, trees=9, depth=5, features=3, targets=1, modes=(0, 1), many=False)
    forest.targets, forest.base = 4, np.float32([0, 1, 2, 3])
    for tree, leaves in enumerate(_leaves_of(forest)):
        for leaf in leaves:
            forest.leaves[leaf] = [(tree % 4, w) for _, w in forest.leaves[leaf]]
    assert planned(forest).width == 1
    check(forest, 66)


def _leaves_of(forest: Forest) -> list[list[int]]:
    found = []
    for root in forest.roots:
        waiting, own = [root], []
        while waiting:
            at = waiting.pop()
            if at < 0:
                own.append(-1 - at)
            else:
                waiting += [forest.nodes[at][3], forest.nodes[at][4]]
        found.append(own)
    return found


@pytest.mark.parametrize("depth", [0, 5])
def test_the_portable_form(monkeypatch: pytest.MonkeyPatch, depth: int) -> None:
    for module in (tree_blocks, tree_ensemble):
        monkeypatch.setattr(module, "form", lambda: "plain")
    forest = Forest(4, trees=6, depth=depth, features=3, targets=1, modes=ALL_MODES, many=False)
    assert plan_of(forest, False) is not None
    check(forest, 67)


@given(st.integers(0, 2**31), st.integers(1, 12), st.integers(0, 8), st.integers(1, 4), st.integers(9, 140))
@settings(max_examples=12, deadline=None)
def test_random_ensembles(seed: int, trees: int, depth: int, features: int, rows: int) -> None:
    forest = Forest(seed, trees=trees, depth=depth, features=features, targets=1, modes=ALL_MODES, many=False)
    check(forest, rows)


def test_what_has_no_plan() -> None:
    shallow = Forest(0, trees=3, depth=4, features=3, targets=2, modes=(0,), many=False)
    assert plan_of(shallow) is not None
    twice = Forest(0, trees=3, depth=4, features=3, targets=2, modes=(0,), many=False)
    twice.leaves[0] = twice.leaves[0] * 2
    assert plan_of(twice) is None
    shared = Forest(0, trees=3, depth=4, features=3, targets=2, modes=(0,), many=False)
    shared.roots = [*shared.roots, shared.roots[0]]
    assert plan_of(shared) is None
    wide = Forest(0, trees=2, depth=2, features=3, targets=3000, modes=(0,), many=False)
    assert plan_of(wide) is None
    deep = Forest(0, trees=2, depth=9, features=3, targets=2, modes=(0,), many=False)
    assert plan_of(deep, False) is None
    for forest in (twice, shared, deep):
        check(forest, 20)
