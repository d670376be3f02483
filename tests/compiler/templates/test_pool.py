"""Pooling: all data types, layouts and roundings; NaN; windows partly or wholly outside the input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from basalt.errors import ValidationError
from basalt.ops import numpy_dtype

from .harness import Maker, check, numbers

POOLS = ("average_pool2d", "l2_pool2d", "max_pool2d")
PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))


def pool(op: str, shape: tuple[int, ...], dtype: str = "float32", fused: bool = False, **options: Any) -> np.ndarray:
    m = Maker()
    array = numbers(1, shape, dtype)
    x = m.input("x", dtype, shape)
    y = getattr(m, op)(x, **options)
    if fused:
        return check(m, {"x": array}, y=m.relu(m.sub(y, m.constant(0.125, dtype))), raw=y)["y"]
    return check(m, {"x": array}, y=y)["y"]


@settings(max_examples=36, deadline=None, derandomize=True)
@given(
    st.sampled_from(POOLS),
    st.sampled_from(["nchw", "nhwc"]),
    st.tuples(st.integers(1, 2), st.sampled_from([1, 3, 20]), st.integers(1, 9), st.sampled_from([1, 5, 40])),
    PAIR,
    st.fixed_dictionaries(
        {
            "strides": PAIR,
            "dilations": PAIR,
            "padding": st.tuples(*[st.integers(0, 2)] * 4),
            "output_shape_rounding": st.sampled_from(["floor", "ceil"]),
        }
    ),
    st.booleans(),
)
def test_windows(
    op: str, layout: str, sizes: tuple[int, ...], window: tuple[int, int], options: dict[str, Any], fused: bool
) -> None:
    shape = dict(zip("nchw", sizes))
    try:
        arranged = tuple(shape[letter] for letter in layout)
        pool(op, arranged, fused=fused, window_dimensions=window, layout=layout, **options)
    except ValidationError:
        assume(False)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("op", POOLS)
def test_global_pooling(op: str, layout: str) -> None:
    pool(op, (2, 5, 7, 9), layout=layout, fused=True)


@pytest.mark.parametrize("op", POOLS)
@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
def test_floating_types(op: str, dtype: str) -> None:
    pool(op, (1, 3, 9, 20), dtype, window_dimensions=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1))
    pool(op, (1, 9, 9, 20), dtype, window_dimensions=(3, 2), layout="nhwc", padding=(1, 1, 1, 1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integer_maxima(dtype: str) -> None:
    pool("max_pool2d", (1, 3, 9, 20), dtype, window_dimensions=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1))
    info = np.iinfo(numpy_dtype(dtype))
    m = Maker()
    x = m.input("x", dtype, (1, 1, 1, 4))
    array = np.array([info.min, info.min, info.max, info.min], dtype).reshape(1, 1, 1, 4)
    y = check(m, {"x": array}, y=m.max_pool2d(x, window_dimensions=(1, 2)))["y"]
    np.testing.assert_array_equal(y.ravel(), [info.min, info.max, info.max])


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_nan_is_the_maximum(layout: str) -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 4, 20, 1) if layout == "nhwc" else (1, 1, 4, 20))
    array = numbers(3, x.shape)
    array.ravel()[[3, 40]] = np.nan
    array.ravel()[[4, 60]] = [np.inf, -np.inf]
    check(m, {"x": array}, y=m.max_pool2d(x, window_dimensions=(2, 3), layout=layout))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("channels", [1, 8, 16, 37])
@pytest.mark.parametrize("stride", [1, 2])
def test_nan_among_channels(dtype: str, channels: int, stride: int) -> None:
    """In every place of a tile, beside infinities; what a window without one gives does not depend on them."""
    array = numbers(3, (2, 9, 11, channels), dtype)
    array[np.abs(array) < 0.2] = -0.0
    array[np.abs(array) > 0.9] *= np.inf
    odd = array.copy()
    odd[np.random.default_rng(0).random(array.shape) < 0.05] = np.nan
    options = {"window_dimensions": (3, 3), "strides": (stride, stride), "padding": (1, 1, 1, 1), "layout": "nhwc"}
    results = []
    for values in (array, odd):
        m = Maker()
        y = m.max_pool2d(m.input("x", dtype, array.shape), **options)
        results.append(check(m, {"x": values}, y=y)["y"])
    plain, found = results
    assert np.isnan(found).any() and not np.isnan(found).all()
    same = ~np.isnan(found) & (plain == found)
    np.testing.assert_array_equal(np.signbit(plain)[same], np.signbit(found)[same])


@pytest.mark.parametrize("op", POOLS)
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 17])
def test_channels_of_all_edges(op: str, width: int) -> None:
    """Tiles that hang over both edges; one channel less and more than vectors hold; padding wider than the window."""
    for channels in (7, 16, 17, 40):
        options = {"window_dimensions": (2, 3), "strides": (1, 2), "padding": (1, 2, 2, 1), "layout": "nhwc"}
        pool(op, (1, 5, width, channels), fused=True, **options)


@pytest.mark.parametrize("op", POOLS)
@pytest.mark.parametrize("channels", [5, 8, 24, 64, 100])
def test_whole_images_of_channels(op: str, channels: int) -> None:
    pool(op, (2, 5, 5, channels), window_dimensions=(5, 5), layout="nhwc")


def test_averages_count_elements_only() -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 1, 2, 2))
    y = m.average_pool2d(x, window_dimensions=(2, 2), padding=(1, 1, 1, 1))
    y = check(m, {"x": np.ones((1, 1, 2, 2), np.float32)}, y=y)["y"]
    np.testing.assert_array_equal(y, np.ones((1, 1, 3, 3), np.float32))


def test_float16_sums_do_not_overflow() -> None:
    m = Maker()
    x = m.input("x", "float16", (1, 1, 4, 4))
    y = check(m, {"x": np.full((1, 1, 4, 4), 60000, np.float16)}, y=m.average_pool2d(x))["y"]
    assert y == np.float16(60000)


@pytest.mark.parametrize("op", POOLS)
def test_huge_windows_cost_nothing(op: str) -> None:
    """Padding and holes of a window are not walked over."""
    big = 2**30
    pool(op, (1, 2, 3, 4), window_dimensions=(big, big), padding=(big, big, big, big), strides=(big, big))
