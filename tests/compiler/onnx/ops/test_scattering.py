"""Scatter, ScatterElements, ScatterND, TensorScatter at all versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import ml_dtypes

from basalt.errors import UnsupportedError, ValidationError

from .single import BOTH, check, run

X = np.arange(12, dtype=np.float32).reshape(3, 4)
COMBINE: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scattered(
    x: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str = "none"
) -> np.ndarray:
    """Element by element."""
    result = x.copy()
    for at in np.ndindex(indices.shape):
        place = list(at)
        place[axis] = indices[at]
        old, new = result[tuple(place)], updates[at]
        result[tuple(place)] = new if reduction == "none" else COMBINE[reduction](old, new)
    return result


def scattered_nd(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, reduction: str = "none") -> np.ndarray:
    """Slice by slice."""
    result = x.copy()
    for at in np.ndindex(indices.shape[:-1]):
        place = tuple(indices[at])
        result[place] = updates[at] if reduction == "none" else COMBINE[reduction](result[place], updates[at])
    return result


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3), (1, 1), (3, 2), (0, 2)])
def test_scatter_elements(axis: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    indices = np.argsort(rng.random((3, 4)), axis)[: shape[0], : shape[1]]
    updates = rng.random(shape).astype(np.float32)
    expected = scattered(X, indices, updates, axis)
    check("Scatter", (9,), [X, indices, updates], expected, axis=axis)
    check("ScatterElements", (11, 13, 16, 18), [X, indices, updates], expected, axis=axis)
    check("ScatterElements", (18,), [X, indices.astype(np.int32), updates], expected, axis=axis, compiled=BOTH)


def test_scatter_at_version_11() -> None:
    indices, updates = np.array([[1, -1]]), np.float32([[5, 6]])
    expected = scattered(X, indices, updates, 1)
    check("Scatter", (9, 11), [X, indices, updates], expected, axis=1, compiled=BOTH, symbolic=True)


@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "float16", "float64", "bfloat16", "uint16"])
def test_reductions_with_duplicates(reduction: str, dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x, updates = X.astype(kind), (X[:2] * 3 + 1).astype(kind)
    indices = np.array([[0, 0, 3, 3], [1, 0, 0, -4]])
    expected = scattered(x, indices, updates, 1, reduction)
    versions = (16, 18)
    check("ScatterElements", versions, [x, indices, updates], expected, axis=1, reduction=reduction)
    check("ScatterElements", (18,), [x, indices, updates], expected, axis=1, reduction=reduction, compiled=(True,))
    rows = np.array([[2], [2]])
    expected = scattered_nd(x, rows, updates, reduction)
    check("ScatterND", versions, [x, rows, updates], expected, reduction=reduction)
    check("ScatterND", (18,), [x, rows, updates], expected, reduction=reduction, compiled=(True,))


def test_reductions_of_truth_values() -> None:
    x, indices = np.array([True, False, True]), np.array([0, 1, 2])
    updates = np.array([False, True, True])
    for reduction, expected in (("add", x | updates), ("max", x | updates), ("mul", x & updates), ("min", x & updates)):
        check("ScatterElements", (18,), [x, indices, updates], expected, reduction=reduction, compiled=BOTH)


def test_other_reductions() -> None:
    for op, updates in (("ScatterElements", np.float32([[1]])), ("ScatterND", X[:1])):
        with pytest.raises(ValidationError, match="reduction"):
            run(op, 18, [X, np.array([[0]]), updates], reduction="mean")


@pytest.mark.parametrize(("indices", "tail"), [([[0], [2]], (4,)), ([[0, 1], [-1, -1]], ()), ([[[1]], [[0]]], (4,))])
def test_scatter_nd(indices: Any, tail: tuple[int, ...]) -> None:
    places = np.array(indices)
    updates = np.random.default_rng(1).random((*places.shape[:-1], *tail)).astype(np.float32)
    expected = scattered_nd(X, places, updates)
    check("ScatterND", (11, 13, 16, 18), [X, places, updates], expected)
    check("ScatterND", (18,), [X, places, updates], expected, compiled=BOTH)
    with pytest.raises(ValidationError, match="updates"):
        run("ScatterND", 13, [X, places, updates[:1]])


def test_scatter_elements_refuses() -> None:
    for indices, updates in (
        (np.zeros((4, 1), np.int64), X[:, :1]),
        (np.zeros((4, 1), np.int64), np.zeros((4, 1), np.float32)),
        (np.zeros(3, np.int64), X[:, 0]),
    ):
        with pytest.raises(ValidationError):
            run("ScatterElements", 18, [X, indices, updates], axis=1)


def test_known_indices_outside_are_refused() -> None:
    for op, indices, updates in (
        ("ScatterElements", np.array([[3]]), X[:1, :1]),
        ("ScatterND", np.array([[0, 3], [-4, 0]]), X[0, :2]),
    ):
        with pytest.raises(ValidationError, match="expected -3 to 2"):
            run(op, 18, [X, indices, updates], constant=(1,))


def test_strings_and_complex_numbers() -> None:
    words = np.array(["a", "b", "c"], dtype=object)
    inputs = [words, np.array([2, 0]), np.array(["x", "y"], dtype=object)]
    expected = np.array(["y", "b", "x"], dtype=object)
    check("Scatter", (9,), inputs, expected)
    check("ScatterElements", (11, 13, 16, 18), inputs, expected)
    check("ScatterND", (11, 18), [inputs[0], inputs[1][:, None], inputs[2]], expected)
    with pytest.raises(ValidationError, match="strings"):
        run("ScatterElements", 18, inputs, reduction="add")
    x = np.array([1 + 1j, 2 - 1j], np.complex64)
    check("ScatterElements", (18,), [x, np.array([0, 0]), x], np.array([4 + 1j, 2 - 1j], np.complex64), reduction="add")
    with pytest.raises(UnsupportedError, match="complex"):
        run("ScatterElements", 18, [x, np.array([0, 0]), x], reduction="mul")


def cache_of(past: np.ndarray, update: np.ndarray, starts: Any, axis: int, circular: bool) -> np.ndarray:
    """Written place by place."""
    result = np.moveaxis(past.copy(), axis, 1)
    new = np.moveaxis(update, axis, 1)
    for b in range(past.shape[0]):
        for i in range(new.shape[1]):
            place = (0 if starts is None else int(starts[b])) + i
            result[b, place % result.shape[1] if circular else place] = new[b, i]
    return np.moveaxis(result, 1, axis)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([(3, 1), (3, -2), (4, 2), (4, 3), (4, 1), (2, 1)]), st.booleans(), st.booleans(), st.data())
def test_tensor_scatter(form: tuple[int, int], circular: bool, symbolic: bool, data: st.DataObject) -> None:
    rank, axis = form
    past = np.zeros((2, 5, 3, 4)[:rank], np.float32)
    shape = list(past.shape)
    size = shape[axis]
    shape[axis] = data.draw(st.integers(0, size))
    update = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    last = 20 if circular else size - shape[axis]
    starts = data.draw(st.none() | st.tuples(st.integers(0, last), st.integers(0, last)))
    given_starts = None if starts is None else np.array(starts)
    options = {"axis": axis} | ({"mode": "circular"} if circular else {})
    expected = cache_of(past, update, starts, axis % rank, circular)
    check("TensorScatter", (24,), [past, update, given_starts], expected, symbolic=symbolic, **options)


@pytest.mark.parametrize("dtype", ["float16", "bool", "float8_e4m3fn", "int4"])
def test_tensor_scatter_compiled(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    past, update = np.zeros((2, 4, 3), kind), np.ones((2, 2, 3), kind)
    starts = np.array([3, 1])
    expected = cache_of(past, update, starts, 1, True)
    check("TensorScatter", (24,), [past, update, starts], expected, mode="circular", compiled=BOTH)


def test_tensor_scatter_refuses() -> None:
    past = np.zeros((2, 4, 3), np.float32)
    for update, options in (
        (past[:, :, :2], {}),
        (past, {"axis": 0}),
        (past, {"mode": "other"}),
        (np.zeros((2, 5, 3), np.float32), {}),
    ):
        with pytest.raises(ValidationError):
            run("TensorScatter", 24, [past, update], **options)
