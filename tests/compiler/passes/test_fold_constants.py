"""Folding: what is computed at compile time, and that constants do not grow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Graph, Value
from basalt.compiler.passes import fold_constants as fold_module
from basalt.compiler.passes.context import Context
from basalt.compiler.passes.fold_constants import SMALL_BYTES, fold_constants
from basalt.compiler.text import print_graph
from basalt.compiler.verify import verify

from ..graphs import assert_identical
from ..making import Maker

BIG = SMALL_BYTES // 4 + 1
"""Elements of float32 that exceed the bound for small results."""


def _fold(m: Maker, limit: int | None = None, **outputs: Any) -> tuple[Graph, Context]:
    context = Context(m.constants, collect_notes=True, limit=limit)
    graph = m.graph(**outputs)
    after = fold_constants(graph, context)
    verify(after, m.constants)
    if not graph.inputs:
        assert_identical(interpret(graph, m.constants, {}), interpret(after, m.constants, {}))
    return after, context


def test_chains_are_folded() -> None:
    m = Maker()
    x = m.input("x", "float32", (2,))
    c = m.mul(m.add(m.constant([1, 2]), m.constant(3.0)), m.constant(0.5))
    after, _ = _fold(m, y=m.add(x, c), z=c)
    assert print_graph(after, m.constants).splitlines() == [
        "graph(%x: float32[2]) {",
        "  %c1 = constant float32[2] {2, 2.5}",
        "  %v2 = add(%x, %c1): float32[2]",
        "  return y=%v2, z=%c1",
        "}",
    ]


def test_outputs_in_lists_and_absent_operands() -> None:
    m = Maker()
    parts = m.split(m.constant([1, 2, 3]), (1, 2))
    product = m.gemm(m.constant([[1.0]]), m.constant([[2.0]]))
    after, _ = _fold(m, a=parts[0], b=parts[1], c=product)
    assert after.nodes == ()
    assert [m.constants.array(v).tolist() for _, v in after.outputs] == [[1], [2, 3], [[2]]]


def test_special_values() -> None:
    m = Maker()
    c = m.constant([np.inf, -np.inf, np.nan, -0.0])
    after, _ = _fold(m, a=m.mul(c, m.constant(0.0)), b=m.neg(c), c=m.cast(c, "int32"), d=m.sqrt(c))
    assert after.nodes == ()


def _dequantised(m: Maker, dtype: str) -> Value:
    """Weights that would take four times as many bytes as floats, as many, or more."""
    return m.dequantize_linear(m.constant(np.ones((BIG, 2)), dtype), m.constant([[0.5]]), m.constant([[0]], dtype))


@pytest.mark.parametrize(
    ("build", "grows"),
    [
        (lambda m: m.expand(m.constant(np.ones((BIG, 1))), (BIG, 2)), True),
        (lambda m: m.expand(m.constant(1.0), (300,)), True),
        (lambda m: m.expand(m.constant(1.0), (256,)), False),
        (lambda m: m.tile(m.constant(np.ones(BIG)), (2,)), True),
        (lambda m: m.tile(m.constant(np.ones(BIG // 2)), (2,)), False),
        (lambda m: m.add(m.constant(np.ones((BIG, 1))), m.constant(np.ones((1, 3)))), True),
        (lambda m: m.add(m.constant(np.ones(BIG)), m.constant(np.ones(BIG) * 2)), False),
        (lambda m: m.transpose(m.constant(np.ones((BIG, 2)))), False),
        (lambda m: m.cast(m.constant(np.ones(BIG), "float16"), "float32"), False),
        (lambda m: m.cast(m.constant(np.ones(BIG), "float16"), "float64"), True),
        (lambda m: m.cast(m.constant(np.ones(BIG), "uint8"), "float32"), True),
        (lambda m: m.pad(m.constant(np.ones(BIG)), (1,), (0,)), True),
        (lambda m: m.concat([c := m.constant(np.ones(BIG)), c], 0), True),
        (lambda m: _dequantised(m, "uint8"), False),
        (lambda m: _dequantised(m, "int32"), False),
        (lambda m: _dequantised(m, "int4"), True),
    ],
)
def test_growth_is_bounded(build: Any, grows: bool) -> None:
    m = Maker()
    after, context = _fold(m, y=build(m))
    assert bool(after.nodes) == grows
    assert [("bytes would be added" in note) for note in context.notes] == [True] * grows


def _filled_filter(m: Maker) -> Value:
    filled = m.expand(m.constant(0.5), (40, 30, 5, 5))
    return m.conv2d(m.input("x", "float32", (1, 30, 6, 6)), filled)


def _filter_of_factors(m: Maker) -> Value:
    factors = m.mul(m.constant(np.ones((200, 1))), m.constant(np.arange(200).reshape(1, 200)))
    return m.matmul(m.input("x", "float32", (3, 200)), m.transpose(m.relu(factors)))


def _filter_of_nibbles(m: Maker) -> Value:
    return m.gemm(m.input("x", "float32", (3, BIG)), _dequantised(m, "int4"))


@pytest.mark.parametrize("build", [_filled_filter, _filter_of_factors, _filter_of_nibbles])
def test_weights_are_computed_whatever_their_size(build: Any) -> None:
    m = Maker()
    y = build(m)
    after, _ = _fold(m, y=y)
    assert len(after.nodes) == 1 and after.nodes[0].present[1].is_constant
    assert after.nodes[0].present[1].type.nbytes > SMALL_BYTES
    x = np.random.default_rng(0).standard_normal(after.inputs[0].shape).astype(np.float32)
    assert_identical(interpret(m.graph(y=y), m.constants, {"x": x}), interpret(after, m.constants, {"x": x}))


def test_filled_weights_take_no_memory() -> None:
    m = Maker()
    filled = m.expand(m.constant(0.5), (1 << 20, 1 << 5))
    after, _ = _fold(m, y=m.matmul(m.input("x", "float32", (3, 1 << 20)), filled))
    assert m.constants.array(after.nodes[0].present[1]).strides == (0, 0)


def test_the_growth_of_all_weights_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold_module, "GROWN_BYTES", 3 * SMALL_BYTES - 1)
    m = Maker()
    x = m.input("x", "float32", (1, 1))
    products = [m.matmul(x, m.expand(m.constant(float(i)), (1, BIG))) for i in range(4)]
    after, context = _fold(m, y=m.concat(products, 0))
    assert [n.op for n in after.nodes].count("expand") == 2
    assert any("bytes would be added" in note for note in context.notes)


def test_only_what_is_constant_counts_as_weights() -> None:
    m = Maker()
    x = m.input("x", "float32", (BIG, 1))
    after, _ = _fold(m, y=m.matmul(m.constant(np.ones((2, BIG))), m.add(x, m.expand(m.constant(1.0), (BIG, 1)))))
    assert [n.op for n in after.nodes] == ["expand", "add", "matmul"]


def test_expensive_operators_stay() -> None:
    m = Maker()
    y = m.conv2d(m.constant(np.ones((1, 8, 200, 200))), m.constant(np.ones((16, 8, 7, 7))))
    after, context = _fold(m, y=m.reduce_sum(y), limit=0)
    assert [n.op for n in after.nodes] == ["conv2d", "reduce_sum"]
    assert "multiplications" in next(iter(context.notes))
    m = Maker()
    after, _ = _fold(m, y=m.conv2d(m.constant(np.ones((1, 1, 3, 3))), m.constant(np.ones((1, 1, 2, 2)))))
    assert after.nodes == ()


def test_reshape_shares_memory_and_a_small_slice_does_not() -> None:
    m = Maker()
    weights = m.constant(np.arange(BIG * 4).reshape(BIG, 4))
    after, _ = _fold(m, a=m.reshape(weights, (4, BIG)), b=m.slice(weights, (0, 0), (1, 4)))
    base = m.constants.array(weights)
    a, b = (m.constants.array(v) for _, v in after.outputs)
    assert np.shares_memory(a, base) and not np.shares_memory(b, base)
    assert b.base is None or b.base.nbytes == b.nbytes


def test_limit_stops_folding() -> None:
    m = Maker()
    c = m.constant([1.0, 2.0])
    for _ in range(4):
        c = m.add(c, c)
    after, context = _fold(m, limit=3, y=c)
    assert len(after.nodes) == 1 and len(context.applied) == 3


def test_names_of_values_stay() -> None:
    m = Maker()
    named = Value(m.add(m.constant(1.0), m.constant(2.0)).type, "total")
    m.nodes[-1] = replace(m.nodes[-1], outputs=(named,))
    after, _ = _fold(m, y=named)
    assert after.outputs[0][1].name == "total"
