"""Gather, GatherElements, GatherND, ReverseSequence at all versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

from basalt.errors import ValidationError

from .single import BOTH, check, run

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
INDEX_TYPES = (np.int32, np.int64)


@pytest.mark.parametrize("kind", INDEX_TYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(kind: type, axis: int) -> None:
    indices = np.array([[0, -1], [-2, 1]], kind)
    check("Gather", (1, 11, 13), [X, indices], np.take(X, indices, axis), axis=axis)
    check("Gather", (13,), [X, indices], np.take(X, indices, axis), axis=axis, symbolic=True, compiled=BOTH)
    check("Gather", (1,), [X > 4, indices[0]], np.take(X > 4, indices[0], axis), axis=axis, constant=(1,))
    check("Gather", (13,), [X, indices[0, 0]], np.take(X, 0, axis), axis=axis)


def test_gather_moves_indices_outside_to_the_nearest_end() -> None:
    x, indices = X[0, 0], np.array([9, -9])
    check("Gather", (13,), [x, indices], x[[3, 0]], compiled=BOTH)
    check("GatherElements", (13,), [x, indices], x[[3, 0]], compiled=BOTH)
    check("GatherND", (13,), [x, indices[:, None]], x[[3, 0]], compiled=BOTH)


def test_known_indices_outside_are_refused() -> None:
    x = X[0, 0]
    for op, indices in (
        ("Gather", np.array([0, 4])),
        ("Gather", np.array(-5)),
        ("GatherElements", np.array([4])),
        ("GatherND", np.array([[3], [-5]])),
    ):
        with pytest.raises(ValidationError, match="expected -4 to 3"):
            run(op, 13, [x, indices], constant=(1,))
    with pytest.raises(ValidationError, match="expected -3 to 2"):
        run("GatherND", 13, [X, np.array([[[0, 0]], [[3, 1]]])], constant=(1,), batch_dims=1)


def test_gather_refuses_an_axis_that_there_is_not() -> None:
    with pytest.raises(ValidationError, match="axis"):
        run("Gather", 13, [X, np.array([0])], axis=3)
    empty = np.zeros((0, 2), np.float32)
    check("Gather", (13,), [empty, np.zeros(0, np.int64)], empty)
    with pytest.raises(ValidationError, match="empty"):
        run("Gather", 13, [empty, np.array([0])])


@pytest.mark.parametrize("axis", [0, 2, -2])
def test_gather_elements(axis: int) -> None:
    indices = np.random.default_rng(0).integers(-2, 2, X.shape)
    expected = np.take_along_axis(X, np.where(indices < 0, indices + X.shape[axis], indices), axis)
    check("GatherElements", (11, 13), [X, indices], expected, axis=axis, compiled=BOTH)


def test_gather_elements_of_fewer_places_than_the_input_has() -> None:
    indices = np.array([[[0], [2]]])
    expected = np.array([[[0], [8]]], np.float32)
    check("GatherElements", (11, 13), [X, indices], expected, axis=1, compiled=BOTH)
    check("GatherElements", (13,), [X, indices], expected, axis=1, symbolic=True)
    with pytest.raises(ValidationError, match="rank"):
        run("GatherElements", 13, [X, indices[0]], axis=1)


def gather_nd(x: np.ndarray, indices: np.ndarray, batch: int) -> np.ndarray:
    """By loops over the batch."""
    if batch:
        return np.stack([gather_nd(a, i, batch - 1) for a, i in zip(x, indices)])
    return x[tuple(np.moveaxis(indices, -1, 0))]


@pytest.mark.parametrize(("batch", "shape"), [(0, (2, 2)), (0, (1, 3)), (1, (2, 2)), (1, (2, 5, 1)), (2, (2, 3, 1))])
def test_gather_nd(batch: int, shape: tuple[int, ...]) -> None:
    indices = np.random.default_rng(1).integers(-2, 2, shape)
    expected = gather_nd(X, indices, batch)
    options = {"batch_dims": batch} if batch else {}
    for versions in ((11,), (12, 13)) if not batch else ((12, 13),):
        check("GatherND", versions, [X, indices], expected, **options)
    check("GatherND", (13,), [X, indices], expected, **options, compiled=BOTH)


def test_gather_nd_refuses_a_batch_that_differs() -> None:
    with pytest.raises(ValidationError, match="batch_dims"):
        run("GatherND", 13, [X, np.zeros((3, 1), np.int64)], batch_dims=1)
    with pytest.raises(ValidationError, match="coordinates"):
        run("GatherND", 13, [X, np.zeros((3, 4), np.int64)])


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.booleans(), st.booleans(), st.data())
def test_reverse_sequence(steps: int, batches: int, batch_first: bool, symbolic: bool, data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(0, steps), min_size=batches, max_size=batches))
    x = np.arange(steps * batches * 2, dtype=np.int16).reshape(steps, batches, 2)
    expected = x.copy()
    for b, length in enumerate(lengths):
        expected[:length, b] = x[:length, b][::-1]
    if batch_first:
        x, expected = x.swapaxes(0, 1), expected.swapaxes(0, 1)
    axes = {"batch_axis": 0, "time_axis": 1} if batch_first else {}
    version = data.draw(st.sampled_from((10, 28)))
    check("ReverseSequence", (version,), [x, np.array(lengths)], expected, symbolic=symbolic, **axes)


def test_reverse_sequence_compiled() -> None:
    lengths = np.array([1, 3, 2])
    expected = np.stack([X[0], X[1, [2, 1, 0]]])
    check("ReverseSequence", (10, 28), [X, lengths[:2]], expected, batch_axis=0, time_axis=1, compiled=BOTH)
    with pytest.raises(ValidationError, match="time_axis"):
        run("ReverseSequence", 10, [X, lengths], batch_axis=1, time_axis=1)
    with pytest.raises(ValidationError, match="sequence_lens"):
        run("ReverseSequence", 10, [X, lengths[:1]])
