"""Reshape, Flatten, Squeeze, Unsqueeze, Transpose at all versions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

import ml_dtypes

from basalt.errors import ValidationError

from .single import BOTH, check, run

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
RESHAPE = (5, 13, 14, 19, 21, 23, 24, 25)
SINCE_13 = (13, 21, 23, 24, 25)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("asked", "shape"), [((6, 4), (6, 4)), ((0, -1), (2, 12)), ((-1,), (24,)), ((1, 0, 8), (1, 3, 8))]
)
def test_reshape(asked: Sequence[int], shape: Sequence[int]) -> None:
    check("Reshape", (1,), [X], X.reshape(shape), shape=list(asked), compiled=BOTH)
    check("Reshape", RESHAPE, [X, ints(*asked)], X.reshape(shape))
    check("Reshape", (13, 25), [X, ints(*asked)], X.reshape(shape), compiled=BOTH, constant=(1,), symbolic=True)


def test_reshape_of_symbolic_sizes_known_only_at_run_time() -> None:
    check("Reshape", RESHAPE, [X, ints(0, -1)], X.reshape(2, 12), symbolic=True)
    check("Reshape", (14,), [X, ints(-1)], X.reshape(24), symbolic=True, compiled=BOTH)


def test_reshape_takes_0_as_a_size_where_allowed() -> None:
    empty = np.zeros((0, 3, 4), np.float32)
    for version in (14, 19, 21, 23, 24, 25):
        check("Reshape", (version,), [empty, ints(3, 4, 0)], empty.reshape(3, 4, 0), allowzero=1)
        with pytest.raises(ValidationError, match="0"):
            run("Reshape", version, [empty, ints(-1, 0)], allowzero=1)
    check("Reshape", RESHAPE, [empty, ints(0, 12)], empty.reshape(0, 12))
    check("Reshape", RESHAPE, [empty, ints(0, -1)], empty.reshape(0, 12))


def test_reshape_of_scalars() -> None:
    check("Reshape", (5, 25), [np.float32(3).reshape(()), ints(1, 1)], np.full((1, 1), 3, np.float32), compiled=BOTH)
    check("Reshape", (5, 25), [np.ones((1, 1), np.int8), ints()], np.ones((), np.int8), compiled=BOTH)


@pytest.mark.parametrize("asked", [(5, 5), (-1, -1), (-2, 3), (0, 0, 0, 0), (7, -1)])
def test_reshape_refuses(asked: Sequence[int]) -> None:
    with pytest.raises(ValidationError, match="node"):
        run("Reshape", 13, [X, ints(*asked)], constant=(1,))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_reshape_like_numpy(shape: list[int], data: st.DataObject) -> None:
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    order = data.draw(st.permutations(shape))
    asked = list(order)
    if x.size:
        asked[data.draw(st.integers(0, len(asked) - 1))] = -1
    check("Reshape", (data.draw(st.sampled_from((14, 25))),), [x, ints(*asked)], x.reshape(order), allowzero=1)


@pytest.mark.parametrize("axis", range(4))
def test_flatten(axis: int) -> None:
    expected = X.reshape(int(np.prod(X.shape[:axis])), -1)
    check("Flatten", (1, 9, 11, *SINCE_13), [X], expected, axis=axis)
    check("Flatten", (1, 25), [X], expected, axis=axis, symbolic=True, compiled=BOTH)


def test_flatten_counts_axes_from_the_end() -> None:
    check("Flatten", (9, 11, *SINCE_13), [X], X.reshape(6, 4), axis=-1)
    with pytest.raises(ValidationError, match="axis"):
        run("Flatten", 9, [X], axis=-4)
    check("Flatten", (13,), [np.float32(2).reshape(())], np.full((1, 1), 2, np.float32), axis=0)


def test_squeeze_and_unsqueeze_by_attribute() -> None:
    x = X.reshape(1, 2, 1, 3, 4)
    check("Squeeze", (1, 11), [x], X, axes=[0, 2], compiled=BOTH)
    check("Squeeze", (1, 11), [x], X)
    check("Squeeze", (1, 11), [x], x[:, :, 0], axes=[-3])
    check("Unsqueeze", (1, 11), [X], x, axes=[0, 2], compiled=BOTH)
    check("Unsqueeze", (1, 11), [X], X[..., None], axes=[-1])


def test_squeeze_and_unsqueeze_by_input() -> None:
    x = X.reshape(1, 2, 1, 3, 4)
    check("Squeeze", SINCE_13, [x, ints(0, -3)], X)
    check("Squeeze", SINCE_13, [x], X)
    check("Squeeze", SINCE_13, [x], X, symbolic=True)
    check("Unsqueeze", SINCE_13, [X, ints(2, 0)], x)
    check("Unsqueeze", (25,), [X, ints(-1, 0)], X[None, ..., None], symbolic=True, constant=(1,), compiled=BOTH)
    with pytest.raises(ValidationError, match="size 2"):
        run("Squeeze", 13, [x, ints(1)])
    with pytest.raises(ValidationError, match="once"):
        run("Unsqueeze", 13, [X, ints(0, -5)])


@pytest.mark.parametrize("dtype", ["float32", "bool", "int4", "float8_e4m3fn", "bfloat16", "uint16", "float64"])
def test_elements_of_all_types_are_kept(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = (np.arange(12).reshape(3, 4) % 2).astype(kind)
    check("Reshape", (25,), [x, ints(4, 3)], x.reshape(4, 3), compiled=BOTH)
    check("Transpose", (25,), [x], x.T, compiled=BOTH)
    check("Unsqueeze", (25,), [x, ints(0)], x[None])
    check("Flatten", (25,), [x], x)


def test_transpose() -> None:
    for order in ([2, 0, 1], [0, 1, 2], [1, 0, 2]):
        check("Transpose", (1, *SINCE_13), [X], X.transpose(order), perm=order)
    check("Transpose", (1, 25), [X], X.T, compiled=BOTH, symbolic=True)
    with pytest.raises(ValidationError, match="perm"):
        run("Transpose", 13, [X], perm=[0, 0, 1])
