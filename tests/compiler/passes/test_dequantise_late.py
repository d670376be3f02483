"""Dequantisation after what moves elements: graphs, results, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from basalt.compiler.interpret import interpret
from basalt.compiler.ir import Value
from basalt.compiler.passes.dequantise_late import REWRITES, dequantise_late

from ..graphs import assert_identical
from ..making import Maker
from .rewritten import Result, check_guards, check_texts, rewritten

Build = Callable[[Maker], Value]


def _dequantised(
    m: Maker, x: Value | None = None, scale: Sequence[float] = (0.5,), shape: Sequence[int] = (1, 1), zero: int = 3
) -> Value:
    x = m.input("x", "int8", (4, 6)) if x is None else x
    scales = np.resize(np.float32(scale), shape)
    zeros = np.full(shape, zero)
    return m.dequantize_linear(x, m.constant(scales), m.constant(zeros, x.dtype), label="dequantised")


def _table(m: Maker, dtype: str = "int8") -> Value:
    return m.constant(np.arange(24).reshape(4, 6) % 8, dtype)


def _rows(m: Maker, *shape: int) -> Value:
    return m.input("rows", "int64", shape)


def _again(m: Maker, inner: Value, scale: float = 0.5, zero: int = 3, dtype: str = "int8") -> Value:
    ones = (1,) * len(inner.shape)
    return m.quantize_linear(inner, m.constant(np.full(ones, scale)), m.constant(np.full(ones, zero), dtype))


MOVED: dict[str, Build] = {
    "transpose": lambda m: m.transpose(_dequantised(m)),
    "reshape": lambda m: m.reshape(_dequantised(m), (2, 3, 4), label="shape"),
    "slice": lambda m: m.slice(_dequantised(m), (1, 0), (2, 3), strides=(1, 2)),
    "reverse": lambda m: m.reverse(_dequantised(m), axes=(1,)),
    "several": lambda m: m.reshape(m.transpose(_dequantised(m)), (12, 2)),
    "transpose of rows": lambda m: m.transpose(_dequantised(m, scale=(1, 2, 3, 4), shape=(4, 1))),
    "transpose of blocks": lambda m: m.transpose(_dequantised(m, scale=(1, 2), shape=(2, 1))),
    "lookup": lambda m: m.gather(_dequantised(m, _table(m)), _rows(m, 2), axis=0),
    "lookup of columns": lambda m: m.gather(_dequantised(m, _table(m, "uint8")), _rows(m, 3), axis=1),
    "lookup of rows": lambda m: m.gather(_dequantised(m, _table(m), (1, 2, 3, 4), (4, 1)), _rows(m, 2, 2), axis=0),
    "quantised again": lambda m: _again(m, m.transpose(_dequantised(m))),
}


def _read_twice(m: Maker) -> Value:
    return m.add(m.reshape(y := _dequantised(m), (24,)), m.reshape(m.relu(y), (24,)))


_READ = "other nodes read what is dequantised as well"
LEFT: dict[str, tuple[Build, str | None]] = {
    "read twice": (_read_twice, _READ),
    "columns that a reshape mixes": (lambda m: m.reshape(_dequantised(m, scale=(1, 2), shape=(2, 1)), (6, 4)), None),
    "wide numbers": (lambda m: m.transpose(_dequantised(m, m.input("x", "int32", (4, 6)))), None),
    "more than the table": (lambda m: m.gather(_dequantised(m, _table(m)), _rows(m, 5), axis=0), None),
    "columns of rows": (
        lambda m: m.gather(_dequantised(m, _table(m), (1, 2, 3, 4), (4, 1)), _rows(m, 2), axis=1),
        None,
    ),
    "another scale": (lambda m: _again(m, _dequantised(m), scale=0.25), None),
    "another zero": (lambda m: _again(m, _dequantised(m), zero=4), None),
    "another type": (lambda m: _again(m, _dequantised(m), dtype="uint8"), None),
    "a scale that overflows": (lambda m: _again(m, _dequantised(m, scale=(1e37,)), scale=1e37), None),
}


def _run(build: Build) -> Result:
    return rewritten(dequantise_late, build)


def test_graphs_are_as_expected() -> None:
    check_texts("dequantise_late", {case: _run(build) for case, build in MOVED.items()})


@pytest.mark.parametrize("name", MOVED)
def test_results_stay(name: str) -> None:
    before, after, context = _run(MOVED[name])
    assert after is not before
    numbers = np.random.default_rng(2)
    feeds = {
        v.name: numbers.integers(-128 if v.dtype == "int8" else 0, 4, v.shape).astype(v.dtype) for v in before.inputs
    }
    assert_identical(*(interpret(g, context.constants, feeds) for g in (before, after)))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("scale", [0.5, 1 / 3, 1.2e-38, 1e36, -0.7])
def test_every_byte_comes_back(scale: float, dtype: str) -> None:
    """What is quantised as it was before is what it was."""
    m = Maker()
    every = np.arange(256).astype(dtype)
    x = m.input("x", dtype, (256,))
    y = _again(m, _dequantised(m, x, (scale,), (1,)), scale, dtype=dtype)
    (result,) = interpret(m.graph(y=y), m.constants, {"x": every}).values()
    assert np.array_equal(result, every)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    build, remark = LEFT[name]
    before, after, context = _run(build)
    assert after is before
    assert {note.rpartition(": ")[2] for note in context.notes} == ({remark} if remark else set())


def test_every_guard_is_tested() -> None:
    check_guards(REWRITES, LEFT)
