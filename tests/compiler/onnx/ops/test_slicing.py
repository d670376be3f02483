"""Slice and Split at all versions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

from basalt.errors import ValidationError

from .single import BOTH, check, run

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
BIG = 2**63 - 1


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_slice_by_attributes() -> None:
    check("Slice", (1,), [X], X[1:3, :-1], starts=[1, 0], ends=[3, -1], compiled=BOTH)
    check("Slice", (1,), [X], X[:, -2:, 1:], starts=[-2, 1], ends=[1000, 2**31 - 1], axes=[1, 2])


CASES = [
    ((1,), (BIG,), (1,), None, np.s_[:, 1:]),
    ((-3, 0), (-1, -1), (2, 0), (1, 1), np.s_[:-1, :, -3:-1]),
    ((-1,), (-BIG,), (1,), (-1,), np.s_[:, ::-1]),
    ((BIG, 3), (1, 0), (2, 1), (-2, -1), np.s_[:, 3:0:-1, :1:-2]),
    ((4, -100), (-100, 100), (2, 1), (-3, 2), np.s_[:, ::2, 4::-3]),
    ((2,), (2,), (0,), (1,), np.s_[2:2]),
    ((7,), (9,), (-1,), (1,), np.s_[..., 7:9]),
    ((-9,), (-7,), (2,), (-1,), np.s_[..., :0]),
]


@pytest.mark.parametrize(("starts", "ends", "axes", "steps", "place"), CASES)
def test_slice_by_inputs(
    starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] | None, place: object
) -> None:
    axes = [a % 3 for a in axes]
    inputs = [X, ints(*starts), ints(*ends), ints(*axes), None if steps is None else ints(*steps)]
    check("Slice", (10, 11, 13), inputs, X[place])
    check("Slice", (13,), inputs, X[place], constant=(1, 2, 3, 4), symbolic=True, compiled=BOTH)


def test_slice_of_axes_counted_from_the_end_and_int32_bounds() -> None:
    bounds = [ints(1).astype(np.int32), ints(3).astype(np.int32), ints(-2).astype(np.int32)]
    check("Slice", (10, 11, 13), [X, *bounds], X[:, 1:3], compiled=BOTH)
    check("Slice", (13,), [X, ints(1, 1), ints(2, 3)], X[1:2, 1:3])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([-3, -2, -1, 1, 2, 3]), st.booleans())
def test_slice_like_python(size: int, start: int, end: int, step: int, symbolic: bool) -> None:
    x = np.arange(size, dtype=np.int64)
    inputs = [x, ints(start), ints(end), ints(0), ints(step)]
    check("Slice", (13,), inputs, x[start:end:step], constant=(1, 2, 3, 4), symbolic=symbolic)


def test_slice_refuses() -> None:
    with pytest.raises(ValidationError, match="equal numbers"):
        run("Slice", 13, [X, ints(1), ints(2, 3)])
    with pytest.raises(ValidationError, match="once"):
        run("Slice", 13, [X, ints(1, 1), ints(2, 2), ints(0, -3)])
    with pytest.raises(ValidationError, match="step"):
        run("Slice", 13, [X, ints(1), ints(2), ints(0), ints(0)])
    with pytest.raises(ValidationError, match="axes"):
        run("Slice", 13, [X, ints(1), ints(2), ints(3)])


def test_slice_of_truth_values() -> None:
    check("Slice", (13,), [X > 30, ints(-1), ints(-BIG), ints(0), ints(-1)], (X > 30)[::-1], compiled=BOTH)


def test_split_into_equal_parts() -> None:
    parts = np.split(X, 2, 1)
    check("Split", (2, 11, 13), [X], *parts, axis=1, compiled=BOTH)
    check("Split", (1,), [X], *parts, axis=1)
    check("Split", (18,), [X], *parts, axis=1, num_outputs=2, compiled=BOTH)
    check("Split", (18,), [X], *parts, axis=1, num_outputs=2, symbolic=True)
    with pytest.raises(ValidationError, match="no 2 equal parts"):
        run("Split", 13, [X], axis=0, outputs=2)


def test_split_into_parts_of_given_sizes() -> None:
    parts = [X[..., :1], X[..., 1:5], X[..., 5:]]
    check("Split", (2, 11), [X], *parts, axis=-1, split=[1, 4, 0])
    check("Split", (1,), [X, np.float32([1, 4, 0])], *parts, axis=2)
    check("Split", (1,), [X], *parts, axis=2, split=[1, 4, 0])
    check("Split", (13, 18), [X, ints(1, 4, 0)], *parts, axis=-1, compiled=BOTH)
    check("Split", (18,), [X, ints(1, 4, 0)], *parts, axis=-1, constant=(1,), symbolic=True)


def test_split_into_uneven_parts() -> None:
    check("Split", (18,), [X], X[..., :2], X[..., 2:4], X[..., 4:], axis=2, num_outputs=3, compiled=BOTH)
    check("Split", (18,), [X], X[:2], X[2:], num_outputs=2, symbolic=True, compiled=BOTH)
    check("Split", (18,), [X], X[..., :2], X[..., 2:4], X[..., 4:], X[..., 5:], axis=2, num_outputs=4)


def test_split_refuses() -> None:
    for version, inputs, options in (
        (13, [X, ints(1, 1)], {"outputs": 2}),
        (13, [X, ints(3)], {"outputs": 2}),
        (13, [X, ints(4, -1)], {"outputs": 2}),
        (18, [X, ints(1, 2)], {"outputs": 2, "num_outputs": 2}),
        (2, [X], {"outputs": 2, "axis": 3}),
        (18, [X], {"outputs": 2, "num_outputs": 2**40}),
    ):
        with pytest.raises(ValidationError):
            run("Split", version, inputs, **options)
