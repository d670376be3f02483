"""The canonical forms: their graphs, their accuracy, and special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Graph
from basalt.compiler.passes.canonicalise import NOT_IN_CORE, REWRITES, canonicalise
from basalt.compiler.passes.context import Context
from basalt.compiler.text import print_graph
from basalt.compiler.verify import verify

from ..graphs import assert_identical, ulps
from ..making import Maker
from . import expected

Build = Callable[[Maker, str], Any]
INF, NAN = np.inf, np.nan


def _x(m: Maker, dtype: str, *shape: int) -> Any:
    return m.input("x", dtype, shape)


def _vector(m: Maker, dtype: str, size: int, name: str) -> Any:
    return m.input(name, dtype, (size,))


CASES: dict[str, Build] = {
    "reduce_l1": lambda m, d: m.reduce_l1(_x(m, d, 4, 5), axes=(1,)),
    "reduce_l2": lambda m, d: m.reduce_l2(_x(m, d, 4, 5), axes=(1,), keep_dimensions=True),
    "reduce_log_sum": lambda m, d: m.reduce_log_sum(m.abs(_x(m, d, 4, 5)), axes=(0,)),
    "reduce_log_sum_exp": lambda m, d: m.reduce_log_sum_exp(_x(m, d, 4, 5), axes=(1,)),
    "reduce_max": lambda m, d: m.reduce_max(_x(m, d, 4, 5), axes=(0,)),
    "reduce_mean": lambda m, d: m.reduce_mean(_x(m, d, 4, 5), axes=(1, 0)),
    "reduce_min": lambda m, d: m.reduce_min(_x(m, d, 4, 5, 2), axes=(2, 0), keep_dimensions=True),
    "reduce_product": lambda m, d: m.reduce_product(_x(m, d, 4, 5)),
    "reduce_sum": lambda m, d: m.reduce_sum(_x(m, d, 4, 5, 3), axes=(0, 2)),
    "reduce_sum_square": lambda m, d: m.reduce_sum_square(_x(m, d, 4, 5), axes=(1,)),
    "softmax": lambda m, d: m.softmax(_x(m, d, 4, 5), 1),
    "batch_normalization": lambda m, d: m.batch_normalization(
        _x(m, d, 2, 3, 4),
        _vector(m, d, 3, "mean"),
        m.abs(_vector(m, d, 3, "variance")),
        scale=_vector(m, d, 3, "scale"),
        bias=_vector(m, d, 3, "bias"),
    ),
    "batch_normalization without scale and bias": lambda m, d: m.batch_normalization(
        _x(m, d, 4, 3), _vector(m, d, 4, "mean"), m.abs(_vector(m, d, 4, "variance")), axis=0
    ),
    "instance_normalization": lambda m, d: m.instance_normalization(
        _x(m, d, 2, 3, 4, 5), scale=_vector(m, d, 3, "scale"), bias=_vector(m, d, 3, "bias")
    ),
    "instance_normalization nhwc": lambda m, d: m.instance_normalization(
        _x(m, d, 2, 4, 5, 3), scale=_vector(m, d, 3, "scale"), layout="nhwc"
    ),
    "layer_normalization": lambda m, d: m.layer_normalization(
        _x(m, d, 2, 3, 4), scale=m.input("scale", d, (3, 4)), bias=m.input("bias", d, (3, 4))
    ),
    "layer_normalization, axes in another order": lambda m, d: m.layer_normalization(
        _x(m, d, 2, 3, 4), axes=(2, 0), scale=m.input("scale", d, (4, 2)), bias=m.input("bias", d, (4, 2))
    ),
    "layer_normalization over no axes": lambda m, d: m.layer_normalization(
        _x(m, d, 2, 3), axes=(), scale=m.input("scale", d, ()), bias=m.input("bias", d, ())
    ),
    "gru_cell": lambda m, d: m.gru_cell(
        _x(m, d, 2, 3),
        m.input("w", d, (12, 3)),
        m.input("r", d, (12, 4)),
        m.input("h", d, (2, 4)),
        4,
        bias=m.input("b", d, (12,)),
        layout="rzn",
        reset_after=False,
    ),
    "lstm_cell": lambda m, d: m.lstm_cell(
        _x(m, d, 2, 3),
        m.input("w", d, (16, 3)),
        m.input("r", d, (16, 4)),
        m.input("h", d, (2, 4)),
        m.input("c", d, (2, 4)),
        4,
        recurrent_bias=m.input("b", d, (16,)),
        peephole_weight=m.input("p", d, (12,)),
        layout="ifgo",
    ),
    "attention of narrow floats": lambda m, d: m.call(
        "attention",
        m.input("q", "float16", (3, 4)),
        m.input("k", "float16", (5, 4)),
        m.input("v", "float16", (5, 2)),
        mask=m.input("mask", "float16", (5,)),
        scale=0.5,
    ),
    "gru": lambda m, d: m.gru(
        m.input("x", d, (5, 2, 3)),
        m.input("w", d, (2, 12, 3)),
        m.input("r", d, (2, 12, 4)),
        5,
        4,
        initial_hidden_state=m.input("h", d, (2, 2, 4)),
        direction="both",
        return_sequence=True,
    ),
    "lstm": lambda m, d: m.lstm(
        m.input("x", d, (5, 2, 3)), m.input("w", d, (1, 16, 3)), m.input("r", d, (1, 16, 4)), 5, 4, direction="backward"
    ),
}
EDGES: dict[str, Build] = {
    "reduce_l1 of unsigned integers": lambda m, d: m.reduce_l1(_x(m, "uint32", 2, 3), axes=(1,)),
    "reduce_sum_square of integers": lambda m, d: m.reduce_sum_square(_x(m, "int32", 2, 3)),
    "reduce_l2 over no axes": lambda m, d: m.reduce_l2(_x(m, d, 2, 3), axes=()),
    "reduce_l2 over axes of size 1": lambda m, d: m.reduce_l2(_x(m, d, 2, 1), axes=(1,)),
    "reduce_log_sum_exp over no axes": lambda m, d: m.reduce_log_sum_exp(_x(m, d, 2, 3), axes=()),
    "reduce_sum over no axes": lambda m, d: m.reduce_sum(_x(m, d, 2, 3), axes=()),
    "reduce_mean of a scalar": lambda m, d: m.reduce_mean(_x(m, d)),
    "reduce_sum_square of a scalar": lambda m, d: m.reduce_sum_square(_x(m, d)),
    "softmax along size 1": lambda m, d: m.softmax(_x(m, d, 3, 1), 1),
    "reduce_sum in the core's form": lambda m, d: m.reduce_sum(_x(m, d, 2, 3), axes=(1,), keep_dimensions=True),
}


def _made(build: Build, dtype: str) -> tuple[Graph, Graph, Context]:
    m = Maker()
    result = build(m, dtype)
    values = result if isinstance(result, tuple) else (result,)
    graph = m.graph(**{f"y{i}": v for i, v in enumerate(values)})
    context = Context(m.constants)
    after = canonicalise(graph, context)
    verify(after, m.constants)
    assert {n.op for n in after.nodes} & NOT_IN_CORE == set()
    return graph, after, context


def _feeds(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(seed)
    return {v.name: numbers.normal(size=v.shape).astype(v.dtype) for v in graph.inputs}


def test_every_rewrite_is_tested() -> None:
    ops = {case.partition(" ")[0].rstrip(",") for case in CASES}
    assert {op for r in REWRITES for op in r.pattern.ops} == ops


def test_graphs_are_as_expected() -> None:
    texts = {}
    for name, build in (CASES | EDGES).items():
        _, after, context = _made(build, "float32")
        texts[name] = print_graph(after, context.constants).strip()
    for name in ("reduce_sum", "softmax", "batch_normalization"):
        _, after, context = _made(CASES[name], "float16")
        texts[f"{name} of float16"] = print_graph(after, context.constants).strip()
    expected.check("canonicalise", texts)


TOLERANCE = {
    "reduce_log_sum_exp": 8,
    "reduce_log_sum": 8,
    "instance_normalization": 60,
    "layer_normalization": 60,
    "batch_normalization": 20,
}
"""ULP of float32, where the default is 4. Values near 0 after a bias is added lose digits of the sum's terms."""


@pytest.mark.parametrize("name", [*CASES, *EDGES])
@pytest.mark.parametrize("seed", range(5))
def test_results_are_within_a_few_ulps(name: str, seed: int) -> None:
    graph, after, context = _made((CASES | EDGES)[name], "float32")
    feeds = _feeds(graph, seed)
    before, results = (interpret(g, context.constants, feeds) for g in (graph, after))
    for key, old in before.items():
        if old.dtype.kind != "f":
            assert_identical({key: old}, {key: results[key]})
            continue
        assert ulps(old, results[key]) <= TOLERANCE.get(name.partition(" ")[0].rstrip(","), 4)


@pytest.mark.parametrize("name", CASES)
def test_float16_is_rounded_once(name: str) -> None:
    """Within float32 nothing happens that float16 could see, but a tie."""
    graph, after, context = _made(CASES[name], "float16")
    assert not any(n.op.startswith("reduce") and n.present[0].dtype == "float16" for n in after.nodes)
    for seed in range(5):
        feeds = _feeds(graph, seed)
        before, results = (interpret(g, context.constants, feeds) for g in (graph, after))
        for key, old in before.items():
            assert ulps(old, results[key]) <= 1


@pytest.mark.parametrize("name", [c for c in CASES if c.startswith("reduce") or c == "softmax"])
def test_float16_does_not_overflow_inside(name: str) -> None:
    m = Maker()
    x = m.input("x", "float16", (4, 300))
    args = (1,) if name == "softmax" else ()
    graph = m.graph(y=m.call(name, x, *args, **({} if name == "softmax" else {"axes": (1,)})))
    after = canonicalise(graph, Context(m.constants))
    feeds = {"x": np.full((4, 300), 200.0, np.float16)}
    before, results = (interpret(g, m.constants, feeds) for g in (graph, after))
    assert ulps(before["y"], results["y"]) <= 1


SPECIAL_ROWS = np.array(
    [
        [INF, 1, 2],
        [-INF, 1, 2],
        [-INF, -INF, -INF],
        [INF, -INF, 0],
        [INF, INF, 1],
        [NAN, 1, 2],
        [NAN, INF, -INF],
        [0.0, -0.0, 0.0],
        [100, 200, 300],
        [-500, -600, -700],
    ],
    np.float32,
)


@pytest.mark.parametrize("name", [c for c in CASES if c.startswith("reduce") or c == "softmax"])
def test_special_values(name: str) -> None:
    m = Maker()
    x = m.input("x", "float32", SPECIAL_ROWS.shape)
    graph = m.graph(y=m.softmax(x, 1) if name == "softmax" else m.call(name, x, axes=(1,)))
    after = canonicalise(graph, Context(m.constants))
    before, results = (interpret(g, m.constants, {"x": SPECIAL_ROWS}) for g in (graph, after))
    assert ulps(before["y"], results["y"]) <= 2


def test_log_sum_exp_of_infinities() -> None:
    m = Maker()
    graph = m.graph(y=m.reduce_log_sum_exp(m.input("x", "float32", (4, 2)), axes=(1,)))
    after = canonicalise(graph, Context(m.constants))
    rows = np.array([[INF, 0], [-INF, -INF], [-INF, 3], [NAN, INF]], np.float32)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(interpret(after, m.constants, {"x": rows})["y"], [INF, -INF, 3, NAN])


def test_variance_of_a_large_mean_keeps_its_digits() -> None:
    """A sum of squares minus the square of the sum would lose all digits here."""
    m = Maker()
    graph = m.graph(y=m.layer_normalization(m.input("x", "float32", (1, 64)), axes=(1,)))
    after = canonicalise(graph, Context(m.constants))
    x = (1e4 + np.random.default_rng(0).normal(size=(1, 64))).astype(np.float32)
    before, results = (interpret(g, m.constants, {"x": x}) for g in (graph, after))
    np.testing.assert_allclose(results["y"], before["y"], rtol=1e-3, atol=1e-3)


def test_empty_sets() -> None:
    """Reductions over no elements, which ONNX knows."""
    for op in ("reduce_l1", "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "reduce_mean", "reduce_sum_square"):
        m = Maker()
        graph = m.graph(y=m.call(op, m.input("x", "float32", (3, 0)), axes=(1,)))
        after = canonicalise(graph, Context(m.constants))
        feeds = {"x": np.zeros((3, 0), np.float32)}
        assert_identical(interpret(graph, m.constants, feeds), interpret(after, m.constants, feeds))


def test_labels_and_origin() -> None:
    m = Maker()
    graph = m.graph(y=m.softmax(m.input("x", "float32", (2, 3)), 1, label="attention"))
    after = canonicalise(graph, Context(m.constants))
    assert [n.op for n in after.nodes] == ["reduce_max", "sub", "exp", "reduce_sum", "reciprocal", "mul"]
    assert all(n.labels() == ("attention",) and n.origin == ("canonicalise",) for n in after.nodes)
