"""The generator of random graphs itself: reproducible, complete, and rich enough to test passes with."""

from __future__ import annotations

from collections import Counter

import numpy as np

from basalt.compiler.interpret import interpret
from basalt.compiler.text import print_graph
from basalt.compiler.verify import verify
from basalt.ops import all_operators

from ..graphs import random_graph
from ..recipes import RECIPES


def test_every_operator_has_a_recipe() -> None:
    assert set(RECIPES) == set(all_operators())


def test_graphs_are_reproducible_and_valid() -> None:
    for seed in range(20):
        first, second = random_graph(seed), random_graph(seed)
        assert print_graph(first.graph, first.constants) == print_graph(second.graph, second.constants)
        assert all(np.array_equal(first.feeds[k], second.feeds[k], equal_nan=True) for k in first.feeds)
        assert 5 <= len(first.graph.nodes) <= 60
        verify(first.graph, first.constants)


def test_every_operator_appears_and_results_vary() -> None:
    seen: Counter[str] = Counter()
    constant_results = total = 0
    for seed in range(150):
        sample = random_graph(seed)
        seen.update(node.op for node in sample.graph.nodes)
        for array in interpret(sample.graph, sample.constants, sample.feeds).values():
            total += 1
            constant_results += array.size > 1 and np.unique(array).size == 1
    assert set(all_operators()) - set(seen) == set()
    assert constant_results < total / 3


def test_special_values_reach_the_outputs() -> None:
    found = 0
    for seed in range(20):
        sample = random_graph(seed, special=0.15)
        results = interpret(sample.graph, sample.constants, sample.feeds).values()
        found += any(a.dtype.kind == "f" and np.isnan(a).any() for a in results)
    assert found >= 10
