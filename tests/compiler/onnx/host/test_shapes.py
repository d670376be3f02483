"""Moving strings about, compared with moving the numbers that they spell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ValidationError

from .nodes import run, same, strings


def texts(x: np.ndarray) -> np.ndarray:
    return strings(*map(str, x.ravel().tolist()), shape=x.shape)


X = np.arange(24).reshape(2, 3, 4)

CASES: list[tuple[str, int, tuple[Any, ...], dict[str, Any], np.ndarray]] = [
    ("Identity", 1, (), {}, X),
    ("Reshape", 5, (np.array([4, -1]),), {}, X.reshape(4, 6)),
    ("Reshape", 5, (np.array([0, 12]),), {}, X.reshape(2, 12)),
    ("Reshape", 1, (), {"shape": (24,)}, X.reshape(24)),
    ("Flatten", 9, (), {"axis": 2}, X.reshape(6, 4)),
    ("Flatten", 11, (), {"axis": -2}, X.reshape(2, 12)),
    ("Flatten", 11, (), {"axis": 0}, X.reshape(1, 24)),
    ("Unsqueeze", 11, (), {"axes": (0, -1)}, X[None, ..., None]),
    ("Unsqueeze", 13, (np.array([1]),), {}, X[:, None]),
    ("Transpose", 1, (), {}, X.T),
    ("Transpose", 13, (), {"perm": (1, 2, 0)}, X.transpose(1, 2, 0)),
    ("Expand", 8, (np.array([2, 1, 3, 1]),), {}, np.broadcast_to(X, (2, 2, 3, 4))),
    ("Tile", 6, (np.array([1, 2, 0]),), {}, np.tile(X, (1, 2, 0))),
    ("Tile", 1, (np.array(2.0), np.array(1.0)), {}, np.tile(X, (1, 2, 1))),
    ("Slice", 1, (), {"starts": (0, -2), "ends": (1, 100), "axes": (0, 2)}, X[:1, :, -2:]),
    ("Slice", 10, (np.array([1]), np.array([-1]), np.array([2]), np.array([2])), {}, X[:, :, 1:-1:2]),
    ("Slice", 11, (np.array([-1]), np.array([-(2**63)]), np.array([1]), np.array([-1])), {}, X[:, ::-1]),
    ("Slice", 13, (np.array([5, 1]), np.array([9, 2])), {}, X[5:, 1:2]),
    ("Slice", 13, (np.array([-9]), np.array([-20]), np.array([2]), np.array([-1])), {}, X[:, :, :0]),
    ("Gather", 11, (np.array([[2, -1]]),), {"axis": 1}, X[:, [[2, -1]]]),
    ("Gather", 1, (np.array(1),), {}, X[1]),
    ("GatherElements", 11, (np.array([[[3, -4]]]),), {"axis": 2}, X[:1, :1, [3, 0]]),
    ("GatherND", 11, (np.array([[1, 2], [-1, 0]]),), {}, X[[1, 1], [2, 0]]),
    ("GatherND", 12, (np.array([[2], [0]]),), {"batch_dims": 1}, X[[0, 1], [2, 0]]),
    ("GatherND", 13, (np.array([1, 2, 3]),), {}, X[1, 2, 3]),
    ("Compress", 9, (np.array([False, True]),), {"axis": 2}, X[:, :, 1:2]),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "version", "inputs", "attributes", "expected"), CASES)
def test_strings_move_like_numbers(
    op_type: str, version: int, inputs: tuple[Any, ...], attributes: dict[str, Any], expected: np.ndarray
) -> None:
    same(run(op_type, version, texts(X), *inputs, **attributes), texts(np.asarray(expected)))
    same(run(op_type, version, X, *inputs, **attributes), np.asarray(expected))
    same(run(op_type, version, X * 1j, *inputs, **attributes), np.asarray(expected * 1j))


def test_squeeze() -> None:
    x = texts(np.arange(3).reshape(1, 3, 1))
    same(run("Squeeze", 1, x), x.reshape(3))
    same(run("Squeeze", 11, x, axes=(-1,)), x.reshape(1, 3))
    same(run("Squeeze", 13, x, np.array([0])), x.reshape(3, 1))
    with pytest.raises(ValidationError, match="size 1"):
        run("Squeeze", 13, x, np.array([1]))


def test_shape_and_size() -> None:
    same(run("Shape", 1, texts(X)), np.array([2, 3, 4]))
    same(run("Shape", 15, X, start=-2, end=9), np.array([3, 4]))
    same(run("Shape", 15, X, start=2, end=1), np.zeros(0, np.int64))
    same(run("Size", 13, texts(X)), np.array(24))


def test_concat_and_split() -> None:
    parts = run("Split", 2, texts(X), axis=2, split=(1, 3))
    same(parts, (texts(X[..., :1]), texts(X[..., 1:])))
    same(run("Concat", 4, *parts, axis=2), texts(X))
    same(run("Concat", 1, *parts[:1], *parts[:1]), np.concatenate([parts[0]] * 2, axis=1))
    same(run("Split", 13, texts(X), np.array([0, 2])), (texts(X[:0]), texts(X)))
    same(run("Split", 18, texts(X), axis=1, num_outputs=2), (texts(X[:, :2]), texts(X[:, 2:])))
    same(run("Split", 1, X * 1.0, np.array([1.0, 2.0]), axis=1), (X[:, :1] * 1.0, X[:, 1:] * 1.0))
    assert [p.shape[0] for p in run("Split", 18, np.zeros(5), num_outputs=4)] == [2, 2, 1, 0]


def test_where_and_equal() -> None:
    same(
        run("Where", 9, np.array([[True], [False]]), strings("a", "b"), strings("c")),
        strings("a", "b", "c", "c", shape=(2, 2)),
    )
    same(run("Equal", 19, strings("a", "b"), strings("b")), np.array([False, True]))
    same(run("Equal", 19, np.array("a", dtype=object), np.array("a", dtype=object)), np.array(True))
    same(run("Equal", 13, np.array([np.nan, 0.0]), np.array([np.nan, -0.0])), np.array([False, True]))


@given(st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([-3, -2, -1, 1, 2, 3]))
def test_slices_like_python(start: int, end: int, step: int) -> None:
    x = np.arange(4)
    same(run("Slice", 13, x, np.array([start]), np.array([end]), None, np.array([step])), x[start:end:step])


WRONG: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = [
    ("Reshape", 5, (np.array([5, -1]),), {}),
    ("Reshape", 5, (np.array([-1, -1]),), {}),
    ("Reshape", 5, (np.array([-2]),), {}),
    ("Reshape", 5, (np.array([2, 3, 4, 0]),), {}),
    ("Reshape", 14, (np.array([0, -1]),), {"allowzero": 1}),
    ("Reshape", 5, (np.array([2.0]),), {}),
    ("Flatten", 9, (), {"axis": -1}),
    ("Flatten", 11, (), {"axis": 4}),
    ("Unsqueeze", 11, (), {"axes": (0, 0)}),
    ("Unsqueeze", 13, (), {}),
    ("Transpose", 1, (), {"perm": (0, 1)}),
    ("Expand", 8, (np.array([5, 4]),), {}),
    ("Expand", 8, (np.array([2**50, 1, 1, 1]),), {}),
    ("Tile", 6, (np.array([1, 2]),), {}),
    ("Tile", 6, (np.array([1, 2, -1]),), {}),
    ("Slice", 10, (np.array([1]), np.array([1]), np.array([3])), {}),
    ("Slice", 10, (np.array([1]), np.array([1]), np.array([0]), np.array([0])), {}),
    ("Slice", 10, (np.array([1, 1]), np.array([1])), {}),
    ("Slice", 10, (np.array([1, 1]), np.array([1, 1]), np.array([0, -3])), {}),
    ("Gather", 13, (np.array([2]),), {}),
    ("Gather", 13, (np.array([2**63], np.uint64),), {}),
    ("Gather", 13, (np.array([0.0]),), {}),
    ("GatherElements", 13, (np.array([0]),), {}),
    ("GatherElements", 13, (np.zeros((1, 4, 1), np.int64),), {}),
    ("GatherND", 13, (np.array([[0, 0, 0, 0]]),), {}),
    ("GatherND", 13, (np.array([[2]]),), {}),
    ("GatherND", 13, (np.zeros((3, 1), np.int64),), {"batch_dims": 1}),
    ("Concat", 4, (np.zeros((2, 3, 5), np.int64), np.zeros((2, 2, 4), np.int64)), {"axis": 2}),
    ("Concat", 4, (np.zeros((2, 3, 4)),), {"axis": 2}),
    ("Split", 13, (np.array([1, 2]),), {}),
    ("Split", 2, (), {"axis": 1, "num_outputs": 2}),
    ("Equal", 13, (np.zeros((2, 3, 5), np.int64),), {}),
    ("Equal", 13, (np.zeros(4),), {}),
]


@pytest.mark.parametrize(("op_type", "version", "inputs", "attributes"), WRONG)
def test_wrong_values_name_the_node(
    op_type: str, version: int, inputs: tuple[Any, ...], attributes: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError, match=f"{op_type}-{version} 'the node': "):
        run(op_type, version, X, *inputs, **attributes)
