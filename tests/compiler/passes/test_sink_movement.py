"""What follows convolutions is computed before their results are moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Graph
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.sink_movement import shape_before, sink_movement
from basalt.compiler.verify import verify

from ..making import Maker
from ..templates.harness import numbers


def sunk(m: Maker, feeds: dict[str, np.ndarray], **outputs: Any) -> Graph:
    """The graph after the pass, which must compute what it computed before."""
    graph = m.graph(**outputs)
    after = sink_movement(graph, Context(m.constants))
    verify(after, m.constants)
    before, now = (interpret(g, m.constants, feeds) for g in (graph, after))
    for name, expected in before.items():
        np.testing.assert_allclose(now[name], expected, rtol=1e-6, atol=1e-6)
    return after


def operators(graph: Graph) -> list[str]:
    return [n.op for n in graph.nodes]


def convolved(m: Maker) -> tuple[Any, dict[str, np.ndarray]]:
    x = m.input("x", "float32", (6, 3, 4, 5))
    return m.conv2d(x, m.constant(numbers(1, (8, 3, 1, 1)))), {"x": numbers(2, (6, 3, 4, 5))}


def test_activations_and_constants_behind_a_convolution_along_one_axis() -> None:
    m = Maker()
    x = m.input("x", "float32", (2, 3, 1, 9))
    y = m.reshape(m.conv2d(x, m.constant(numbers(1, (8, 3, 1, 2)))), (2, 8, 8))
    y = m.relu(m.add(y, m.constant(numbers(3, (8, 1)))))
    y = m.mul(y, m.sigmoid(y))
    graph = sunk(m, {"x": numbers(2, (2, 3, 1, 9))}, y=m.mul(m.constant(np.array(3, np.float32)), y))
    ops = operators(graph)
    assert ops[-1] == "reshape"
    assert ops.index("conv2d") < ops.index("add") < ops.index("mul") < len(ops) - 1


def test_behind_a_convolution_along_three_axes() -> None:
    """Constants of channels and of all elements go back through the transposition and what was split."""
    m = Maker()
    y, feeds = convolved(m)
    y = m.transpose(m.reshape(y, (2, 3, 8, 4, 5)), permutation=(0, 2, 1, 3, 4))
    y = m.prelu(y, m.constant(numbers(3, (8, 1, 1, 1))))
    y = m.sub(m.constant(numbers(4, (2, 8, 3, 4, 5))), y)
    graph = sunk(m, feeds, y=y)
    assert operators(graph)[-2:] == ["reshape", "transpose"]


def test_batch_normalization_follows_its_axis() -> None:
    m = Maker()
    y, feeds = convolved(m)
    y = m.transpose(m.reshape(y, (2, 3, 8, 4, 5)), permutation=(0, 2, 1, 3, 4))
    mean, variance = (m.constant(np.abs(numbers(s, (8,))) + 0.5) for s in (3, 4))
    y = m.batch_normalization(y, mean, variance, axis=1)
    graph = sunk(m, feeds, y=y)
    assert operators(graph) == ["conv2d", "batch_normalization", "reshape", "transpose"]
    assert graph.nodes[1].attrs["axis"] == 1


def test_sums_of_two_that_are_moved_alike() -> None:
    m = Maker()
    y, feeds = convolved(m)
    z = m.conv2d(m.relu(y), m.constant(numbers(5, (8, 8, 1, 1))))
    left, right = (m.transpose(m.reshape(v, (2, 3, 8, 20)), permutation=(0, 2, 1, 3)) for v in (y, z))
    graph = sunk(m, feeds, y=m.relu(m.add(left, right)))
    assert operators(graph)[-4:] == ["add", "relu", "reshape", "transpose"]


@pytest.mark.parametrize("moved", ["transpose", "split"])
def test_others_stay_where_their_operands_lie(moved: str) -> None:
    """What is computed elsewhere would have to be moved instead."""
    m = Maker()
    y, feeds = convolved(m)
    y = m.transpose(y, permutation=(0, 2, 3, 1)) if moved == "transpose" else m.reshape(y, (2, 3, 160))
    other = m.input("other", "float32", y.shape)
    feeds["other"] = numbers(6, tuple(y.shape))
    graph = sunk(m, feeds, y=m.add(y, other))
    assert operators(graph)[-1] == "add"


def test_an_operand_that_only_lacks_dimensions_of_one_is_reshaped() -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 3, 1, 9))
    y = m.reshape(m.conv2d(x, m.constant(numbers(1, (8, 3, 1, 1)))), (8, 9))
    feeds = {"x": numbers(2, (1, 3, 1, 9)), "other": numbers(3, (8, 9))}
    graph = sunk(m, feeds, y=m.add(m.input("other", "float32", (8, 9)), y))
    assert operators(graph)[-2:] == ["add", "reshape"]


def test_results_that_are_broadcast_stay() -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 3, 1, 1))
    y = m.reshape(m.conv2d(x, m.constant(numbers(1, (8, 3, 1, 1)))), (8, 1))
    graph = m.graph(y=m.add(y, m.constant(numbers(2, (8, 9)))))
    assert sink_movement(graph, Context(m.constants)) is graph


def test_products_are_left_alone() -> None:
    m = Maker()
    y = m.matmul(m.input("x", "float32", (6, 4)), m.constant(numbers(1, (4, 5))))
    graph = m.graph(y=m.relu(m.reshape(y, (2, 3, 5))))
    assert sink_movement(graph, Context(m.constants)) is graph


@pytest.mark.parametrize(
    ("shape", "source", "result", "expected"),
    [
        ((1, 4, 1), (2, 4, 1, 9), (2, 4, 9), (1, 4, 1, 1)),
        ((1, 4, 9), (2, 4, 1, 9), (2, 4, 9), (1, 4, 1, 9)),
        ((1, 1, 8, 1, 1), (6, 8, 4, 5), (2, 3, 8, 4, 5), (1, 8, 1, 1)),
        ((2, 3, 8, 1, 5), (6, 8, 4, 5), (2, 3, 8, 4, 5), (6, 8, 1, 5)),
        ((2, 1, 8, 1, 1), (6, 8, 4, 5), (2, 3, 8, 4, 5), None),
        ((1, 20), (1, 4, 5, 1), (1, 20), (1, 4, 5, 1)),
        ((1, 1), (1, 1, 1), (1, 1), (1, 1, 1)),
        ((7, 1, 1), (7,), (7, 1, 1), (7,)),
    ],
)
def test_shapes_before(
    shape: tuple[int, ...], source: tuple[int, ...], result: tuple[int, ...], expected: tuple[int, ...] | None
) -> None:
    assert shape_before(shape, source, result) == expected
