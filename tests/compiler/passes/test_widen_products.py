"""Products and convolutions of narrow floats in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.ir import FUSED, Graph
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.fuse import fuse
from basalt.compiler.passes.widen_products import FEWEST_ROWS, widen_products
from basalt.compiler.pipeline import run_pipeline
from basalt.compiler.verify import verify
from basalt.ops import numpy_dtype

from ..making import Maker
from ..templates.harness import compiled, numbers

NARROW = ["float16", "bfloat16"]


def operators(graph: Graph) -> list[str]:
    return [n.op for n in graph.nodes]


def widened(m: Maker, **outputs: Any) -> Graph:
    after = widen_products(m.graph(**outputs), Context(m.constants))
    verify(after, m.constants)
    return after


@pytest.mark.parametrize("dtype", NARROW)
def test_products_are_rounded_once(dtype: str) -> None:
    """Numbers whose products cancel in float16: the sum is that of float32."""
    m = Maker()
    kind = numpy_dtype(dtype)
    x = m.input("x", dtype, (FEWEST_ROWS, 3))
    w = m.constant(np.array([[240.0], [1.0], [-240.0]]).astype(kind), dtype)
    graph = widened(m, y=m.matmul(x, w))
    assert operators(graph) == ["cast", "matmul", "cast"]
    given = np.tile(np.array([240.0, 0.5, 240.0]).astype(kind), (FEWEST_ROWS, 1))
    got = compiled(graph, m.constants, {"x": given})["y"]
    assert got.dtype == kind
    np.testing.assert_array_equal(got.astype(np.float32), np.full((FEWEST_ROWS, 1), 0.5))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("op", ["conv2d", "conv_transpose2d"])
def test_convolutions(dtype: str, op: str) -> None:
    m = Maker()
    x = m.input("x", dtype, (2, 5, 9, 12))
    w = m.constant(numbers(1, (5, 5, 3, 3), dtype), dtype)
    b = m.constant(numbers(2, (5,), dtype), dtype)
    y = m.relu(getattr(m, op)(x, w, bias=b, padding=(1, 1, 1, 1)))
    graph = widened(m, y=y)
    assert operators(graph) == ["cast", op, "cast", "relu"]
    feeds = {"x": numbers(3, (2, 5, 9, 12), dtype)}
    wide = compiled(graph, m.constants, feeds)["y"].astype(np.float32)
    plain = compiled(m.graph(y=y), m.constants, feeds)["y"].astype(np.float32)
    # One step of the narrow type, where float32's sums fall on either side of the middle between two numbers.
    np.testing.assert_allclose(wide, plain, rtol=2e-3 if dtype == "float16" else 2e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("op", ["average_pool2d", "l2_pool2d", "max_pool2d"])
def test_pools(dtype: str, op: str) -> None:
    m = Maker()
    x = m.input("x", dtype, (1, 3, 12, 20))
    y = getattr(m, op)(x, window_dimensions=(3, 3), padding=(1, 1, 1, 1), strides=(2, 2))
    graph = widened(m, y=y)
    assert operators(graph) == ["cast", op, "cast"]
    feeds = {"x": numbers(3, (1, 3, 12, 20), dtype)}
    wide, plain = (compiled(g, m.constants, feeds)["y"].astype(np.float32) for g in (graph, m.graph(y=y)))
    np.testing.assert_allclose(wide, plain, rtol=1e-3 if dtype == "float16" else 8e-3, atol=0)


def test_what_follows_is_a_kernel_of_its_own_and_casts_are_shared() -> None:
    m = Maker()
    x = m.input("x", "float16", (8, 16))
    first = m.relu(m.matmul(x, m.constant(numbers(1, (16, 16), "float16"), "float16")))
    second = m.matmul(first, m.constant(numbers(2, (16, 4), "float16"), "float16"))
    third = m.matmul(first, m.constant(numbers(3, (16, 4), "float16"), "float16"))
    graph = run_pipeline(m.graph(y=second, z=third), m.constants).graph
    kernels = [[n.op for n in node.body.nodes] if node.op == FUSED else [node.op] for node in graph.nodes]
    assert sorted(kernels) == sorted(
        [["cast"], ["matmul"], ["cast", "relu", "cast"], ["matmul"], ["cast"], ["matmul"], ["cast"]]
    )


def test_others_stay_as_they_are() -> None:
    """Few rows take as long as their weights take to come; float32 and float64 are what they are computed in."""
    for dtype, rows in (("float16", FEWEST_ROWS - 1), ("float32", 16), ("float64", 16)):
        m = Maker()
        w = m.constant(numbers(1, (16, 4), dtype), dtype)
        graph = m.graph(y=m.matmul(m.input("x", dtype, (rows, 16)), w))
        assert widen_products(graph, Context(m.constants)) is graph


def test_a_cast_of_a_float32_product_that_was_there_is_computed_behind_it() -> None:
    m = Maker()
    x = m.input("x", "float32", (8, 16))
    y = m.cast(m.matmul(x, m.constant(numbers(1, (16, 4)), "float32")), "float16")
    graph = m.graph(y=y)
    feeds = {"x": numbers(2, (8, 16))}
    assert operators(fuse(graph)) == ["matmul", "cast"]
    got = compiled(graph, m.constants, feeds)["y"]
    expected = (feeds["x"] @ numbers(1, (16, 4))).astype(np.float16)
    np.testing.assert_allclose(got.astype(np.float32), expected.astype(np.float32), rtol=2e-3, atol=1e-4)


def test_infinities_and_nan_are_what_sums_of_float32_give() -> None:
    m = Maker()
    x = m.input("x", "float16", (FEWEST_ROWS, 2))
    y = m.matmul(x, m.constant(np.array([[60000.0], [60000.0]], np.float16), "float16"))
    given = np.array([[1, 1], [np.inf, 1], [np.nan, 1], [1, -1]], np.float16)
    got = compiled(widened(m, y=y), m.constants, {"x": given})["y"][:, 0]
    np.testing.assert_array_equal(got, np.array([np.inf, np.inf, np.nan, 0], np.float16))
