"""Merging of equal nodes and constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from basalt.compiler.ir import Graph
from basalt.compiler.passes.common_subexpressions import MERGED_BYTES, common_subexpressions
from basalt.compiler.passes.context import Context
from basalt.compiler.text import print_graph
from basalt.compiler.verify import verify

from ..making import Maker


def _merge(m: Maker, **outputs: Any) -> Graph:
    after = common_subexpressions(m.graph(**outputs), Context(m.constants))
    verify(after, m.constants)
    return after


def test_equal_chains_are_merged() -> None:
    m = Maker()
    x = m.input("x", "float32", (2, 3))
    a, b = (m.exp(m.add(x, m.constant(1.0), label=label)) for label in "ab")
    after = _merge(m, y=m.mul(a, b), z=b)
    assert print_graph(after, m.constants).splitlines() == [
        "graph(%x: float32[2, 3]) {",
        "  %c1 = constant float32[] {1}",
        '  %v2 = add(%x, %c1): float32[2, 3] "a, b"',
        "  %v3 = exp(%v2): float32[2, 3]",
        "  %v4 = mul(%v3, %v3): float32[2, 3]",
        "  return y=%v4, z=%v3",
        "}",
    ]


Pair = Callable[[Maker, Any], tuple[Any, Any]]


@pytest.mark.parametrize(
    "pair",
    [
        lambda m, x: (m.softmax(x, 0), m.softmax(x, 0)),
        lambda m, x: (m.add(x, m.constant(1.0)), m.add(m.constant(1.0), x)),
        lambda m, x: (m.split(x, 2)[1], m.split(x, 2)[1]),
        lambda m, x: (m.pad(x, (1, 1), (1, 1), value=np.nan), m.pad(x, (1, 1), (1, 1), value=np.nan)),
        lambda m, x: (m.gemm(x, x), m.gemm(x, x)),
    ],
)
def test_merged(pair: Pair) -> None:
    m = Maker()
    a, b = pair(m, m.input("x", "float32", (2, 2)))
    after = _merge(m, a=a, b=b)
    assert len(after.nodes) == 1
    assert after.outputs[0][1] is after.outputs[1][1]


@pytest.mark.parametrize(
    "pair",
    [
        lambda m, x: (m.softmax(x, 0), m.softmax(x, 1)),
        lambda m, x: (m.sub(x, m.constant(1.0)), m.sub(m.constant(1.0), x)),
        lambda m, x: (m.max(x, m.constant(0.0)), m.max(m.constant(0.0), x)),
        lambda m, x: (m.pad(x, (1, 1), (0, 0), value=0.0), m.pad(x, (1, 1), (0, 0), value=-0.0)),
        lambda m, x: (m.add(x, m.constant(0.0)), m.add(x, m.constant(-0.0))),
        lambda m, x: (m.reshape(x, (4,)), m.expand(m.reshape(x, (1, 4)), (1, 4))),
        lambda m, x: (m.cast(x, "int32"), m.cast(x, "uint32")),
        lambda m, x: (m.gemm(x, x), m.gemm(x, x, c=x)),
    ],
)
def test_not_merged(pair: Pair) -> None:
    m = Maker()
    a, b = pair(m, m.input("x", "float32", (2, 2)))
    nodes = len(m.nodes)
    after = _merge(m, a=a, b=b)
    assert len(after.nodes) == nodes
    assert after.outputs[0][1] is not after.outputs[1][1]


def test_small_constants_are_merged_by_content_and_large_ones_by_identity() -> None:
    m = Maker()
    x = m.input("x", "float32", (MERGED_BYTES // 4 + 1,))
    large, small = np.ones(MERGED_BYTES // 4 + 1, np.float32), np.ones(1, np.float32)
    for array in (large, small):
        array.flags.writeable = False
    constants = [m.constants.add(large), m.constants.add(large), m.constants.add(large.copy())]
    constants += [m.constants.add(small), m.constants.add(small.copy())]
    after = _merge(m, **{f"y{i}": m.add(x, c) for i, c in enumerate(constants)})
    kept = [v for _, v in after.outputs]
    assert kept[0] is kept[1] and kept[2] is not kept[0] and kept[3] is kept[4]


def test_constants_of_other_type_or_shape_are_not_merged() -> None:
    m = Maker()
    ones = (m.constant([0.0]), m.constant([[0.0]]), m.constant([0], "int32"), m.constant(0.0))
    after = _merge(m, **{f"y{i}": m.identity(c) for i, c in enumerate(ones)})
    assert len(after.nodes) == 4


def test_nothing_to_do() -> None:
    m = Maker()
    graph = m.graph(y=m.exp(m.input("x", "float32", (2,))))
    assert common_subexpressions(graph, Context(m.constants)) is graph
