"""Softmax, LogSoftmax, Hardmax before and from version 13 on; ArgMax, ArgMin; CumSum, CumProd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from basalt.errors import ValidationError

from .one_node import allowed, close, is_float, run, sample, versions

Function = Callable[..., Any]


def _hardmax(x: np.ndarray, axis: int) -> np.ndarray:
    found = np.zeros(x.shape)
    np.put_along_axis(found, np.expand_dims(np.argmax(x, axis), axis), 1, axis)
    return found


FUNCTIONS: dict[str, Function] = {
    "Softmax": special.softmax,
    "LogSoftmax": special.log_softmax,
    "Hardmax": _hardmax,
}
SHAPE = (2, 3, 4)
PAIRS = [(op, version) for op in FUNCTIONS for version in versions(op)]


@pytest.mark.parametrize(("op", "version"), PAIRS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2])
@pytest.mark.parametrize("compiled", [False, True])
def test_softmax_family(op: str, version: int, axis: int | None, compiled: bool) -> None:
    """Before version 13 all axes from one on are one; the default axis is 1 then, and -1 since."""
    attributes = {} if axis is None else {"axis": axis}
    place = (1 if version < 13 else 2) if axis is None else axis % 3
    for dtype in ("float32",) if compiled else allowed(op, version):
        x = sample(dtype, SHAPE)
        wide = x.astype(np.float64)
        if version < 13:
            flat = wide.reshape(int(np.prod(SHAPE[:place])), -1)
            expected = FUNCTIONS[op](flat, axis=1).reshape(SHAPE)
        else:
            expected = FUNCTIONS[op](wide, axis=place)
        close(run(op, version, x, compiled=compiled, **attributes), expected, dtype, 4)


@pytest.mark.parametrize(("op", "version"), PAIRS)
def test_odd_shapes(op: str, version: int) -> None:
    one = np.array(7, np.float32)
    wanted = 0 if op == "LogSoftmax" else 1
    assert run(op, version, one, axis=0).tolist() == wanted
    for shape in ((0,), (2, 0), (0, 3)):
        assert run(op, version, np.zeros(shape, np.float32), axis=len(shape) - 1).shape == shape
    symbolic = run(op, version, sample("float32", SHAPE), axis=1, symbolic=True)
    close(symbolic, run(op, version, sample("float32", SHAPE), axis=1, compiled=False), "float32")


@pytest.mark.parametrize("compiled", [False, True])
def test_large_numbers(compiled: bool) -> None:
    x = np.array([[1000, 1000], [-1000, 0], [np.inf, 0]], np.float32)
    found = run("Softmax", 13, x[:2], compiled=compiled)
    np.testing.assert_array_equal(found, np.array([[0.5, 0.5], [0, 1]], np.float32))
    logs = run("LogSoftmax", 13, x[:2], compiled=compiled)
    np.testing.assert_allclose(logs, [[-np.log(2), -np.log(2)], [-1000, 0]], rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_hardmax_marks_the_first_of_equals(compiled: bool) -> None:
    x = np.array([[1, 3, 3], [np.nan, 1, np.nan], [-np.inf] * 3], np.float32)
    assert run("Hardmax", 13, x, compiled=compiled).tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("version", versions("Softmax"))
def test_an_axis_that_is_not_there(version: int) -> None:
    with pytest.raises(ValidationError, match="axis is 4"):
        run("Softmax", version, sample("float32", SHAPE), axis=4)


# ArgMax, ArgMin


@pytest.mark.parametrize(("op", "version"), [(op, v) for op in ("ArgMax", "ArgMin") for v in versions(op)])
def test_positions_of_extremes(op: str, version: int) -> None:
    function: Function = np.argmax if op == "ArgMax" else np.argmin
    for dtype in allowed(op, version):
        x = sample(dtype, (3, 4, 5), low=0, high=3)
        wide = x.astype(np.float64)
        for axis in (None, 1, 2, -1, -3):
            attributes = {} if axis is None else {"axis": axis}
            for keep in (0, 1):
                expected = function(wide, axis=axis or 0, keepdims=bool(keep))
                compiled = version == 13 and axis == 1 and dtype in ("float32", "uint8", "bfloat16")
                found = run(op, version, x, keepdims=keep, compiled=compiled, **attributes)
                close(found, expected, "int64")


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("symbolic", [False, True])
def test_the_last_of_equals(op: str, version: int, symbolic: bool) -> None:
    x = np.array([[2, 1, 2, 1], [0, 0, 0, 0]], np.float32)
    first, last = ([0, 0], [2, 3]) if op == "ArgMax" else ([1, 0], [3, 3])
    for select, expected in ((0, first), (1, last)):
        found = run(op, version, x, axis=1, keepdims=0, select_last_index=select, symbolic=symbolic)
        close(found, expected, "int64")


def test_positions_in_scalars() -> None:
    assert run("ArgMax", 13, np.array(3, np.float32)).tolist() == 0


def test_positions_in_nothing() -> None:
    assert run("ArgMax", 13, np.zeros((2, 0, 3), np.float32), axis=2).shape == (2, 0, 1)
    with pytest.raises(ValidationError, match="empty"):
        run("ArgMax", 13, np.zeros((2, 0), np.float32), axis=1)


# CumSum, CumProd

RUNNING = [(op, version) for op in ("CumSum", "CumProd") for version in versions(op)]


def _running(op: str, x: np.ndarray, axis: int, exclusive: bool, backwards: bool) -> np.ndarray:
    function: Function = np.cumsum if op == "CumSum" else np.cumprod
    rows = np.moveaxis(x, axis, 0)[:: -1 if backwards else 1]
    if exclusive:
        start = np.full((1, *rows.shape[1:]), 0 if op == "CumSum" else 1, x.dtype)
        rows = np.concatenate([start, rows[:-1]])[: len(rows)]
    found = function(rows, axis=0)[:: -1 if backwards else 1]
    return np.moveaxis(found, 0, axis)


@pytest.mark.parametrize(("op", "version"), RUNNING)
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_sums_and_products(op: str, version: int, exclusive: int, reverse: int) -> None:
    for dtype in allowed(op, version):
        x = sample(dtype, (3, 4, 2), low=1, high=3)
        wide = x.astype(np.float64) if is_float(dtype) else x
        for axis in (0, 1, -1):
            place = np.array(axis, np.int32 if axis else np.int64)
            expected = _running(op, wide, axis, bool(exclusive), bool(reverse))
            compiled = axis == 1 and dtype in ("float32", "uint64", "bfloat16")
            known = (1,) if axis else ()
            found = run(op, version, x, place, known=known, exclusive=exclusive, reverse=reverse, compiled=compiled)
            close(found, expected, dtype, 4)


@pytest.mark.parametrize(("op", "version"), RUNNING)
def test_running_over_nothing_and_one_element_vectors(op: str, version: int) -> None:
    x = np.zeros((2, 0), np.float32)
    assert run(op, version, x, np.array([1]), exclusive=1).shape == (2, 0)
    with pytest.raises(ValidationError, match="axis"):
        run(op, version, x, np.array([0, 1]))
    with pytest.raises(ValidationError, match="axis is 2"):
        run(op, version, x, np.array(2))
