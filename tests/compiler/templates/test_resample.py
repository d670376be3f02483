"""Resampling: both modes, any two axes, all data types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import Maker, check, numbers

MODES = st.sampled_from(["nearest-neighbor", "linear"])
SIZE = st.sampled_from([1, 2, 3, 5, 8, 20])


@settings(max_examples=24, deadline=None, derandomize=True)
@given(
    MODES,
    st.tuples(SIZE, SIZE, SIZE, SIZE),
    st.tuples(SIZE, SIZE),
    st.sampled_from([(2, 3), (1, 2), (0, 1), (3, 0), (1, 3), (3, 2)]),
    st.sampled_from(["float32", "float16", "uint8"]),
)
def test_sizes_and_axes(
    mode: str, shape: tuple[int, ...], sizes: tuple[int, int], axes: tuple[int, int], dtype: str
) -> None:
    m = Maker()
    x = m.input("x", dtype, shape)
    check(m, {"x": numbers(1, shape, dtype)}, y=m.resample2d(x, mode=mode, sizes=sizes, axes=axes))


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "bfloat16", "int8", "uint8"])
@pytest.mark.parametrize("mode", ["nearest-neighbor", "linear"])
def test_data_types(mode: str, dtype: str) -> None:
    m = Maker()
    x = m.input("x", dtype, (2, 3, 5, 7))
    check(m, {"x": numbers(1, (2, 3, 5, 7), dtype)}, y=m.resample2d(x, mode=mode, scales=(2.0, 1.5)))


@pytest.mark.parametrize("mode", ["nearest-neighbor", "linear"])
def test_special_values(mode: str) -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 1, 2, 4))
    array = np.array([1, np.inf, 2, np.nan, 3, 4, 5, 6], np.float32).reshape(1, 1, 2, 4)
    check(m, {"x": array}, y=m.resample2d(x, mode=mode, sizes=(4, 8)))


def test_strided_operands() -> None:
    m = Maker()
    x = m.input("x", "float32", (5, 2, 7, 3))
    moved = m.transpose(m.reverse(x, axes=(2,)), permutation=(1, 3, 2, 0))
    y = m.resample2d(moved, mode="linear", sizes=(4, 9), axes=(2, 3))
    check(m, {"x": numbers(1, (5, 2, 7, 3))}, y=m.transpose(y, permutation=(0, 2, 3, 1)))


@pytest.mark.parametrize("width", [1, 4096, 4097])
def test_long_rows(width: int) -> None:
    """Blends of whole rows are kept in scratch memory, where they fit."""
    m = Maker()
    x = m.input("x", "float32", (1, 2, 2, width))
    check(m, {"x": numbers(1, (1, 2, 2, width))}, y=m.resample2d(x, mode="linear", sizes=(3, 50)))
