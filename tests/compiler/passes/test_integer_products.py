"""Products of dequantised operands in integers: graphs, results, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.dead_code import dead_code
from basalt.compiler.passes.integer_products import REWRITES, integer_products

from ..graphs import assert_near
from ..making import Maker
from .rewritten import Result, check_guards, check_texts, rewritten

Build = Callable[[Maker, np.random.Generator], Value]


def _input(m: Maker, shape: tuple[int, ...], dtype: str = "uint8", scales: tuple[int, ...] = ()) -> Value:
    """A dequantised input."""
    ones = scales or (1,) * len(shape)
    zero = np.full(ones, 3 if dtype == "int8" else 120)
    return m.dequantize_linear(
        m.input("x", dtype, shape), m.constant(np.full(ones, 0.02), "float32"), m.constant(zero, dtype)
    )


def _weights(
    m: Maker, n: np.random.Generator, shape: tuple[int, ...], scales: tuple[int, ...] = (), dtype: str = "int8"
) -> Value:
    """Dequantised weights, with a scale of this shape."""
    ones = scales or (1,) * len(shape)
    low, high = {"int8": (-128, 128), "uint8": (0, 256), "int4": (-8, 8)}[dtype]
    return m.dequantize_linear(
        m.constant(n.integers(low, high, shape), dtype),
        m.constant(n.uniform(0.01, 0.02, ones), "float32"),
        m.constant(n.integers(max(low, -5), 5, ones), dtype),
    )


CONV: dict[str, Any] = {"padding": (1, 0, 1, 2), "strides": (2, 1), "dilations": (1, 2)}
FOLDED: dict[str, Build] = {
    "matmul": lambda m, n: m.matmul(_input(m, (2, 5, 16)), _weights(m, n, (16, 6), (1, 6)), label="product"),
    "matmul of two inputs": lambda m, n: m.matmul(
        _input(m, (2, 5, 16), "int8"),
        m.dequantize_linear(
            m.input("w", "uint8", (2, 16, 3)),
            m.constant(np.full((1, 1, 1), 0.1)),
            m.constant(np.full((1, 1, 1), 7), "uint8"),
        ),
    ),
    "gemm": lambda m, n: m.gemm(
        _input(m, (16, 5)),
        _weights(m, n, (6, 16), (6, 1)),
        c=m.constant(n.normal(size=6)),
        a_transpose=True,
        b_transpose=True,
        alpha=0.5,
        beta=3.0,
    ),
    "gemm without addend": lambda m, n: m.gemm(_input(m, (5, 16)), _weights(m, n, (16, 6), dtype="uint8")),
    "conv2d": lambda m, n: m.conv2d(
        _input(m, (1, 4, 6, 7)),
        _weights(m, n, (32, 4, 3, 2), (32, 1, 1, 1)),
        bias=m.constant(n.normal(size=32)),
        **CONV,
    ),
    "weights in blocks": lambda m, n: m.matmul(
        m.input("x", "float32", (2, 3, 64)), _weights(m, n, (64, 6), (2, 6), "int4")
    ),
    "transposed weights": lambda m, n: m.matmul(
        m.input("x", "float32", (3, 12)), m.transpose(_weights(m, n, (6, 12), (1, 3), "uint8"))
    ),
    "conv2d of one scale": lambda m, n: m.conv2d(_input(m, (2, 16, 3, 3), "int8"), _weights(m, n, (32, 16, 1, 1))),
}

_SCALES = "the scales are not one number, and one for each column"
LEFT: dict[str, tuple[Build, str | None]] = {
    "scales of the input's rows": (
        lambda m, n: m.matmul(_input(m, (40, 16), scales=(40, 1)), _weights(m, n, (16, 6))),
        _SCALES,
    ),
    "scales of blocks": (lambda m, n: m.matmul(_input(m, (40, 16)), _weights(m, n, (16, 6), (2, 6))), _SCALES),
    "scales of the weights' rows": (
        lambda m, n: m.gemm(_input(m, (5, 16)), _weights(m, n, (16, 6), (16, 1))),
        _SCALES,
    ),
    "wide integers": (
        lambda m, n: m.matmul(_input(m, (40, 16), "int32"), _weights(m, n, (16, 6))),
        _SCALES,
    ),
    "few terms": (lambda m, n: m.matmul(_input(m, (40, 8)), _weights(m, n, (8, 6))), None),
    "few channels": (lambda m, n: m.conv2d(_input(m, (1, 4, 6, 6)), _weights(m, n, (8, 4, 3, 3))), None),
    "groups": (lambda m, n: m.conv2d(_input(m, (1, 32, 4, 4)), _weights(m, n, (32, 16, 3, 3)), groups=2), None),
    "another layout": (
        lambda m, n: m.conv2d(_input(m, (1, 6, 6, 4)), _weights(m, n, (32, 4, 3, 3)), input_layout="nhwc"),
        None,
    ),
    "sums that int32 cannot hold": (
        lambda m, n: m.matmul(_input(m, (33, 33100)), _weights(m, n, (33100, 1))),
        None,
    ),
}


def _run(build: Build) -> Result:
    return rewritten(integer_products, lambda m: build(m, np.random.default_rng(1)))


def test_graphs_are_as_expected() -> None:
    check_texts("integer_products", {case: _run(build) for case, build in FOLDED.items()})


@pytest.mark.parametrize("name", FOLDED)
def test_results_differ_by_rounding(name: str) -> None:
    before, after, context = _run(FOLDED[name])
    assert "dequantize_linear" not in [node.op for node in dead_code(after, context).nodes]
    numbers = np.random.default_rng(2)
    feeds = {v.name: numbers.integers(-100, 100, v.shape).astype(v.dtype) for v in before.inputs}
    assert_near(*(interpret(g, context.constants, feeds) for g in (before, after)), 2e-6)


@pytest.mark.parametrize(("rows", "bits", "size"), [(33, 4, 32), (2, 4, 4), (2, 3, 32)])
def test_weights_that_are_dequantised_after_all(rows: int, bits: int, size: int) -> None:
    def build(m: Maker) -> Value:
        n = np.random.default_rng(0)
        codes = m.constant(n.integers(0, 1 << bits, (5, 2 * size)), "uint8")
        scale, zero = m.constant(n.normal(size=(5, 2))), m.constant(n.integers(0, 1 << bits, (5, 2)), "uint8")
        return m.call("matmul_blocks", m.input("x", "float32", (rows, 2 * size - 1)), codes, scale, zero, bits=bits)

    before, after, context = rewritten(integer_products, build)
    assert [node.op for node in after.nodes] == ["dequantize_linear", "slice", "transpose", "matmul"]
    feeds = {"x": np.random.default_rng(1).normal(size=(rows, 2 * size - 1)).astype(np.float32)}
    assert_near(*(interpret(g, context.constants, feeds) for g in (before, after)), 2e-6)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    build, remark = LEFT[name]
    before, after, context = _run(build)
    assert after is before
    assert [note.rpartition(": ")[2] for note in context.notes] == ([] if remark is None else [remark])


def test_every_guard_is_tested() -> None:
    check_guards(REWRITES, LEFT)


@settings(max_examples=60)
@given(
    rows=st.integers(1, 4),
    depth=st.integers(16, 40),
    columns=st.integers(1, 5),
    kinds=st.tuples(*[st.sampled_from(["int8", "uint8"])] * 2),
    wide=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_product(rows: int, depth: int, columns: int, kinds: tuple[str, str], wide: bool, seed: int) -> None:
    """Against float64, in which the products of dequantised numbers are all but exact."""
    m, n = Maker(), np.random.default_rng(seed)
    x = _input(m, (rows, depth), kinds[0])
    y = m.matmul(x, _weights(m, n, (depth, columns), (1, columns) if wide else (), kinds[1]))
    graph = m.graph(y=y)
    given_x = n.integers(-128, 256, (rows, depth)).astype(kinds[0])
    after = integer_products(graph, Context(m.constants))
    got = interpret(after, m.constants, {"x": given_x})["y"]
    (dx, dw) = graph.nodes[:2]
    a, b = (_exact(m, node, given_x) for node in (dx, dw))
    np.testing.assert_allclose(got, a @ b, rtol=1e-6, atol=1e-6 * np.abs(a).max() * np.abs(b).max())


def _exact(m: Maker, node: Any, given: np.ndarray) -> np.ndarray:
    """A dequantised operand in float64."""
    x, scale, zero = (given if not v.is_constant else m.constants.array(v) for v in node.inputs)
    return (x.astype(float) - zero.astype(float)) * scale.astype(float)
