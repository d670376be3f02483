"""Positions of extremes: any axis, ties, NaN, all data types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import Maker, check, numbers

OPS = ("arg_min", "arg_max")


def find(op: str, array: np.ndarray, axis: int, **options: object) -> np.ndarray:
    m = Maker()
    x = m.input("x", array.dtype.name, array.shape)
    return check(m, {"x": array}, y=getattr(m, op)(x, axis, **options))["y"]


@settings(max_examples=24, deadline=None, derandomize=True)
@given(
    st.sampled_from(OPS),
    st.lists(st.sampled_from([1, 2, 5, 17, 70]), min_size=1, max_size=3),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from(["int32", "int64"]),
    st.integers(0, 1000),
)
def test_axes_and_ties(op: str, shape: list[int], axis: int, keep: bool, dtype: str, seed: int) -> None:
    array = np.random.default_rng(seed).integers(-3, 3, shape).astype(np.float32)
    found = find(op, array, axis % len(shape), keep_dimensions=keep, output_data_type=dtype)
    assert found.dtype == dtype


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("axis", [0, 1])
def test_first_nan_wins(op: str, axis: int) -> None:
    array = numbers(1, (40, 40))
    array[np.arange(0, 40, 3), np.arange(0, 40, 3)] = np.nan
    array[5, 20:] = np.nan
    array[9, 1], array[9, 2] = np.inf, -np.inf
    find(op, array, axis)


@pytest.mark.parametrize("op", OPS)
def test_zeros_are_equal(op: str) -> None:
    array = np.array([[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]], np.float32)
    assert not find(op, array, 1).any()
    assert not find(op, array, 0).any()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "dtype",
    ["float16", "float64", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"],
)
def test_data_types(op: str, dtype: str) -> None:
    find(op, numbers(1, (3, 70), dtype), 1)
    find(op, numbers(2, (9, 20), dtype), 0)


def test_extremes_of_integers() -> None:
    for dtype in ("int64", "uint64"):
        info = np.iinfo(dtype)
        array = np.array([info.max - 1, info.max, info.min, info.min + 1], dtype)
        assert find("arg_max", array, 0) == 1
        assert find("arg_min", array, 0) == 2


def test_strided_operands_and_results() -> None:
    m = Maker()
    x = m.input("x", "float32", (6, 5, 4))
    turned = m.transpose(m.reverse(x, axes=(1,)), permutation=(2, 1, 0))
    check(
        m, {"x": numbers(1, (6, 5, 4))}, a=m.transpose(m.arg_max(turned, 1), permutation=(1, 0)), b=m.arg_min(turned, 0)
    )


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int64"])
@pytest.mark.parametrize("length", [1, 3, 8, 16, 17])
def test_short_lines(op: str, dtype: str, length: int) -> None:
    """Lines that are written out and the shortest that are not, with ties, the first of several NaN, and infinities."""
    array = np.random.default_rng(length).integers(0, 4, (77, length)).astype(dtype)
    if array.dtype.kind == "f":
        array[::5, length // 2] = np.nan
        array[::10, length - 1] = np.nan
        array[1::5, length // 3] = np.inf
        array[2::5, 0] = -np.inf
    find(op, array, 1)
    find(op, array.reshape(7, 11, length), 2, output_data_type="int64")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "uint8", "int64", "uint32"])
@pytest.mark.parametrize("shape", [(1, 17, 8), (3, 20, 64), (2, 130, 5, 13), (40, 70)])
def test_long_lines_side_by_side(op: str, dtype: str, shape: tuple[int, ...]) -> None:
    array = numbers(3, shape, dtype)
    if array.dtype.kind == "f":
        array = np.round(array * 4).astype(array.dtype)
        array.reshape(-1)[::29] = np.nan
        array.reshape(-1)[::7] = -0.0
    elif array.dtype.kind in "iu":
        array[..., ::3] = array[..., :1]
    for axis in range(len(shape) - 1):
        for kind in ("int32", "int64"):
            find(op, array, axis, output_data_type=kind)
