"""Factors and addends of channels, folded into weights: graphs, results, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.passes.fold_normalisation import REWRITES, fold_normalisation

from ..graphs import assert_near
from ..making import Maker
from .rewritten import Result, check_guards, check_texts, rewritten

Build = Callable[[Maker, np.random.Generator], Any]


def _w(m: Maker, n: np.random.Generator, *shape: int, dtype: str = "float32") -> Value:
    return m.constant(n.uniform(0.5, 1.5, shape), dtype)


def _conv(m: Maker, n: np.random.Generator, filters: str = "oihw", layout: str = "nchw", bias: bool = True) -> Value:
    sizes = {"n": 2, "c": 4, "h": 3, "w": 3}
    x = m.input("x", "float32", [sizes[k] for k in layout])
    weights = _w(m, n, *({"o": 6, "i": 2, "h": 2, "w": 2}[k] for k in filters))
    given = {"bias": _w(m, n, 6)} if bias else {}
    return m.conv2d(x, weights, groups=2, input_layout=layout, filter_layout=filters, **given)


def _transposed(m: Maker, n: np.random.Generator, filters: str) -> Value:
    x = m.input("x", "float32", (2, 4, 3, 3))
    weights = _w(m, n, *({"i": 4, "o": 3, "h": 2, "w": 2}[k] for k in filters))
    return m.conv_transpose2d(x, weights, groups=2, filter_layout=filters)


def _gemm(m: Maker, n: np.random.Generator, c: tuple[int, ...] | None = None, **options: Any) -> Value:
    x = m.input("x", "float32", (2, 3))
    shape = (4, 3) if options.get("b_transpose") else (3, 4)
    return m.gemm(x, _w(m, n, *shape), **({} if c is None else {"c": _w(m, n, *c)}), **options)


def _normal(m: Maker, n: np.random.Generator, y: Value, axis: int = 1, **options: Any) -> Value:
    size = y.shape[axis]
    return m.batch_normalization(y, _w(m, n, size), _w(m, n, size), axis=axis, **options)


FOLDED: dict[str, Build] = {
    "batch_normalization": lambda m, n: _normal(
        m, n, _conv(m, n), scale=_w(m, n, 6), bias=_w(m, n, 6), label="normalization"
    ),
    "batch_normalization without scale": lambda m, n: _normal(m, n, _conv(m, n, bias=False)),
    "nhwc": lambda m, n: _normal(m, n, _conv(m, n, "ohwi", "nhwc"), axis=3),
    "hwio": lambda m, n: _normal(m, n, _conv(m, n, "hwio")),
    "ihwo": lambda m, n: _normal(m, n, _conv(m, n, "ihwo")),
    "transposed iohw": lambda m, n: _normal(m, n, _transposed(m, n, "iohw")),
    "transposed hwoi": lambda m, n: _normal(m, n, _transposed(m, n, "hwoi")),
    "transposed ohwi": lambda m, n: _normal(m, n, _transposed(m, n, "ohwi")),
    "gemm": lambda m, n: _normal(m, n, _gemm(m, n, (4,), alpha=0.5, beta=3.0)),
    "gemm with one addend": lambda m, n: _normal(m, n, _gemm(m, n, (1, 1), b_transpose=True)),
    "gemm without addend": lambda m, n: _normal(m, n, _gemm(m, n)),
    "mul": lambda m, n: m.mul(_w(m, n, 6, 1, 1), _conv(m, n)),
    "div": lambda m, n: m.div(_conv(m, n), _w(m, n, 1, 6, 1, 1)),
    "add": lambda m, n: m.add(_conv(m, n, bias=False), _w(m, n, 6, 1, 1)),
    "sub": lambda m, n: m.sub(_gemm(m, n), _w(m, n, 4)),
    "sub from": lambda m, n: m.sub(_w(m, n), _gemm(m, n, (4,))),
    "chain": lambda m, n: m.add(m.mul(_conv(m, n, bias=False), _w(m, n, 6, 1, 1)), _w(m, n, 6, 1, 1)),
}


def _overflow(m: Maker, n: np.random.Generator) -> Value:
    return m.mul(m.mul(_conv(m, n), m.constant(1e-30)), m.constant(3e38))


_NOT_AFFINE = "it is not one finite factor and addend for each channel"


def _x(m: Maker, dtype: str = "float32") -> Value:
    return m.input("x", dtype, (2, 3))


LEFT: dict[str, tuple[Build, str]] = {
    "read twice": (
        lambda m, n: m.add(m.relu(y := _conv(m, n)), _normal(m, n, y)),
        "other nodes read the linear node as well",
    ),
    "computed weights": (
        lambda m, n: m.mul(m.conv2d(x := m.input("x", "float32", (1, 2, 2, 2)), m.relu(x)), m.constant(2.0)),
        "the weights are not constants",
    ),
    "computed bias": (
        lambda m, n: m.mul(m.gemm(_x(m), _w(m, n, 3, 4), c=m.input("c", "float32", (4,))), m.constant(2.0)),
        "the weights are not constants",
    ),
    "float16": (
        lambda m, n: m.mul(m.gemm(_x(m, "float16"), _w(m, n, 3, 4, dtype="float16")), m.constant(2.0, "float16")),
        "the data type has no digits to spare",
    ),
    "addend of rows": (lambda m, n: m.mul(_gemm(m, n, (2, 1)), _w(m, n, 4)), "the addend differs within a channel"),
    "another axis": (lambda m, n: _normal(m, n, _conv(m, n), axis=2), _NOT_AFFINE),
    "factor of rows": (lambda m, n: m.mul(_conv(m, n), _w(m, n, 2, 1, 1, 1)), _NOT_AFFINE),
    "broadcast": (lambda m, n: m.mul(_gemm(m, n), _w(m, n, 5, 2, 4)), _NOT_AFFINE),
    "zero divisor": (lambda m, n: m.div(_conv(m, n), m.constant(0.0)), _NOT_AFFINE),
    "no variance": (
        lambda m, n: m.batch_normalization(_gemm(m, n), _w(m, n, 4), m.constant([0.0, 1, 1, 1]), epsilon=0),
        _NOT_AFFINE,
    ),
    "computed mean": (
        lambda m, n: m.batch_normalization(_gemm(m, n), m.input("mean", "float32", (4,)), _w(m, n, 4)),
        _NOT_AFFINE,
    ),
    "overflow": (lambda m, n: m.mul(_gemm(m, n), m.constant(3e38)), _NOT_AFFINE),
    "weights that float16 holds": (
        lambda m, n: m.mul(m.gemm(_x(m), m.constant(np.ones((3, 400)))), m.constant(2.0)),
        "the weights would take twice the bytes",
    ),
}


def _run(build: Build) -> Result:
    return rewritten(fold_normalisation, lambda m: build(m, np.random.default_rng(1)))


def test_graphs_are_as_expected() -> None:
    check_texts("fold_normalisation", {case: _run(build) for case, build in FOLDED.items()})


@pytest.mark.parametrize("name", FOLDED)
def test_results_differ_by_rounding(name: str) -> None:
    before, after, context = _run(FOLDED[name])
    assert len(after.nodes) == 1
    numbers = np.random.default_rng(2)
    feeds = {v.name: numbers.normal(size=v.shape).astype(np.float32) for v in before.inputs}
    assert_near(*(interpret(g, context.constants, feeds) for g in (before, after)), 2e-6)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    build, remark = LEFT[name]
    before, after, context = _run(build)
    assert after is before
    assert [note.rpartition(": ")[2] for note in context.notes] == [remark]


def test_an_overflow_on_the_way_is_no_reason_to_stop() -> None:
    """Each factor is folded on its own as long as the weights stay finite."""
    _, after, context = _run(_overflow)
    assert len(after.nodes) == 1
    assert np.isfinite(context.constants.array(after.nodes[0].present[1])).all()


def test_every_guard_is_tested() -> None:
    check_guards(REWRITES, LEFT)


def test_labels_of_both_nodes_stay() -> None:
    _, after, _ = _run(FOLDED["batch_normalization"])
    assert after.nodes[0].labels() == ("normalization",)


def test_old_weights_stay_as_they_are() -> None:
    before, after, context = _run(FOLDED["mul"])
    old, new = (context.constants.array(g.nodes[0].present[1]) for g in (before, after))
    assert not np.shares_memory(old, new) and (old <= 1.5).all() and (old >= 0.5).all()
