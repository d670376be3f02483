"""Fusion never makes two groups wait for each other, however long a group reaches past others."""

from __future__ import annotations

import pytest

from basalt.compiler.codegen.lowering import Lowering
from basalt.compiler.pipeline import lowered_graph

from .graphs import random_graph
from .making import Maker
from .recipes import RECIPES


@pytest.mark.parametrize("seed", [102348, *range(40)])
def test_groups_that_span_others(seed: int) -> None:
    """In 102348 a group that ends early reads one that goes on after it."""
    sample = random_graph(seed, only=list(RECIPES))
    graph = lowered_graph(sample.graph, sample.constants)
    Lowering(graph, sample.constants).run()


def test_a_chain_past_a_barrier_stays_apart() -> None:
    """The sum reads the first operator and, through a barrier, what is made of it: it cannot join the first."""
    maker = Maker()
    x = maker.input("x", "float32", (4, 4))
    a = maker.relu(x)
    c = maker.add(a, maker.cumulative_sum(maker.neg(a), 0))
    graph = lowered_graph(maker.graph(y=c), maker.constants)
    assert [n.op for n in graph.nodes] == ["fused", "cumulative_sum", "add"]
