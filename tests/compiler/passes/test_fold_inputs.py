"""What is done to input channels, folded into weights: graphs, results, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.passes.fold_inputs import REWRITES, fold_inputs

from ..graphs import assert_near
from ..making import Maker
from .rewritten import Result, check_guards, check_texts, rewritten

Build = Callable[[Maker, np.random.Generator], Any]


def _w(m: Maker, n: np.random.Generator, *shape: int, dtype: str = "float32") -> Value:
    return m.constant(n.uniform(0.5, 1.5, shape), dtype)


def _x(m: Maker, *shape: int, dtype: str = "float32") -> Value:
    return m.input("x", dtype, shape)


def _conv(
    m: Maker, n: np.random.Generator, x: Value, filters: str = "oihw", layout: str = "nchw", **options: Any
) -> Value:
    weights = _w(m, n, *({"o": 6, "i": 2, "h": 2, "w": 2}[k] for k in filters))
    return m.conv2d(x, weights, groups=2, input_layout=layout, filter_layout=filters, **options)


def _normal(m: Maker, n: np.random.Generator, x: Value, axis: int = 1, mean: float = 1.0) -> Value:
    size = x.shape[axis]
    mean_, variance = m.constant(np.full(size, mean)), _w(m, n, size)
    return m.batch_normalization(x, mean_, variance, axis=axis, scale=_w(m, n, size), bias=_w(m, n, size), label="norm")


FOLDED: dict[str, Build] = {
    "factor": lambda m, n: _conv(m, n, m.mul(_w(m, n, 4, 1, 1), _x(m, 1, 4, 3, 3)), padding=(1, 1, 1, 1)),
    "divisor": lambda m, n: _conv(m, n, m.div(_x(m, 1, 4, 3, 3), m.constant(255.0)), bias=_w(m, n, 6)),
    "moved": lambda m, n: m.matmul(m.mul(m.transpose(_x(m, 3, 2)), _w(m, n, 3)), _w(m, n, 3, 4)),
    "nhwc, ohwi": lambda m, n: _conv(m, n, m.mul(_x(m, 1, 3, 3, 4), _w(m, n, 4)), "ohwi", "nhwc"),
    "hwio": lambda m, n: _conv(m, n, m.mul(_x(m, 1, 4, 3, 3), _w(m, n, 4, 1, 1)), "hwio"),
    "ihwo": lambda m, n: _conv(m, n, m.mul(_x(m, 1, 4, 3, 3), _w(m, n, 4, 1, 1)), "ihwo"),
    "normalization": lambda m, n: _conv(m, n, _normal(m, n, _x(m, 1, 4, 3, 3))),
    "normalization, bias": lambda m, n: _conv(m, n, _normal(m, n, _x(m, 1, 4, 3, 3)), bias=_w(m, n, 6)),
    "normalization, ihwo": lambda m, n: _conv(m, n, _normal(m, n, _x(m, 1, 3, 3, 4), 3), "ihwo", "nhwc"),
    "gemm": lambda m, n: m.gemm(_normal(m, n, _x(m, 2, 3)), _w(m, n, 3, 4), alpha=0.5),
    "gemm with addend": lambda m, n: m.gemm(
        _normal(m, n, _x(m, 2, 3)), _w(m, n, 4, 3), c=_w(m, n, 1, 4), beta=2.0, b_transpose=True
    ),
    "gemm of rows": lambda m, n: m.gemm(_normal(m, n, _x(m, 3, 2), 0), _w(m, n, 3, 4), a_transpose=True),
    "gemm with addend of rows": lambda m, n: m.gemm(m.mul(_x(m, 2, 3), _w(m, n, 3)), _w(m, n, 3, 4), c=_w(m, n, 2, 1)),
    "matmul": lambda m, n: m.matmul(m.mul(_x(m, 2, 5, 3), _w(m, n, 3)), _w(m, n, 3, 4)),
    "matmul of normalization": lambda m, n: m.matmul(_normal(m, n, _x(m, 2, 5, 3), 2), _w(m, n, 3, 4)),
}

_NOT_AFFINE = "it is not one finite factor and addend for each channel"
_HALF = "float16"
_OWN_WEIGHTS = "the weights are not constants of this node alone"


def _shared(m: Maker, n: np.random.Generator) -> Value:
    x, w = _x(m, 3, 3), _w(m, n, 3, 3)
    return m.add(m.matmul(m.mul(x, _w(m, n, 3)), w), m.matmul(x, w))


LEFT: dict[str, tuple[Build, str]] = {
    "read twice": (
        lambda m, n: m.add(y := m.mul(_x(m, 3, 3), _w(m, n, 3)), m.matmul(y, _w(m, n, 3, 3))),
        "other nodes read the before node as well",
    ),
    "a computed operand": (
        lambda m, n: m.matmul(m.mul(m.relu(_x(m, 3, 3)), _w(m, n, 3)), _w(m, n, 3, 3)),
        "it is computed along with its operand",
    ),
    "computed weights": (lambda m, n: m.matmul(m.mul(x := _x(m, 3, 3), _w(m, n, 3)), x), _OWN_WEIGHTS),
    "weights of several nodes": (_shared, _OWN_WEIGHTS),
    "weights that float16 holds": (
        lambda m, n: m.matmul(m.mul(_x(m, 3, 3), _w(m, n, 3)), m.constant(np.ones((3, 400)))),
        "the weights would take twice the bytes",
    ),
    "a stack of weights": (lambda m, n: m.matmul(m.mul(_x(m, 3, 3), _w(m, n, 3)), _w(m, n, 2, 3, 3)), _OWN_WEIGHTS),
    "float16": (
        lambda m, n: m.matmul(m.mul(_x(m, 3, 3, dtype=_HALF), m.constant(2.0, _HALF)), _w(m, n, 3, 3, dtype=_HALF)),
        "the data type has no digits to spare",
    ),
    "factors of rows": (lambda m, n: m.matmul(m.mul(_x(m, 3, 3), _w(m, n, 3, 1)), _w(m, n, 3, 3)), _NOT_AFFINE),
    "padded normalization": (
        lambda m, n: _conv(m, n, _normal(m, n, _x(m, 1, 4, 3, 3)), padding=(0, 1, 0, 0)),
        _NOT_AFFINE,
    ),
    "a mean far from zero": (
        lambda m, n: m.matmul(_normal(m, n, _x(m, 2, 3), mean=100.0), _w(m, n, 3, 4)),
        _NOT_AFFINE,
    ),
    "another axis": (lambda m, n: m.matmul(_normal(m, n, _x(m, 2, 3), 0), _w(m, n, 3, 4)), _NOT_AFFINE),
    "addend of rows": (
        lambda m, n: m.gemm(_normal(m, n, _x(m, 2, 3)), _w(m, n, 3, 4), c=_w(m, n, 2, 1)),
        _NOT_AFFINE,
    ),
    "overflow": (lambda m, n: m.matmul(m.mul(_x(m, 2, 3), m.constant(3e38)), _w(m, n, 3, 4)), _NOT_AFFINE),
    "zero divisor": (lambda m, n: m.matmul(m.div(_x(m, 2, 3), m.constant(0.0)), _w(m, n, 3, 4)), _NOT_AFFINE),
}  # fmt: skip


def _run(build: Build) -> Result:
    return rewritten(fold_inputs, lambda m: build(m, np.random.default_rng(1)))


def test_graphs_are_as_expected() -> None:
    check_texts("fold_inputs", {case: _run(build) for case, build in FOLDED.items()})


@pytest.mark.parametrize("name", FOLDED)
def test_results_differ_by_rounding(name: str) -> None:
    before, after, context = _run(FOLDED[name])
    assert len(after.nodes) == (2 if name in ("matmul of normalization", "moved") else 1)
    numbers = np.random.default_rng(2)
    feeds = {v.name: numbers.normal(size=v.shape).astype(np.float32) for v in before.inputs}
    assert_near(*(interpret(g, context.constants, feeds) for g in (before, after)), 2e-6)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    build, remark = LEFT[name]
    before, after, context = _run(build)
    assert after is before
    assert {note.rpartition(": ")[2] for note in context.notes} == {remark}


def test_every_guard_is_tested() -> None:
    check_guards(REWRITES, LEFT)
