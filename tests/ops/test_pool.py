"""Pooling against a loop over windows that lists each window's elements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.ops.types import WEBNN_TYPES

from .harness import arrays, assert_rounded, float_types, infer, run

pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


def windows(x: np.ndarray, sizes: tuple[int, int], o: dict[str, Any]) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The elements of each window of an nchw input, by output position."""
    height, width = x.shape[2:]
    (kh, kw), (sh, sw), (dh, dw) = o["window_dimensions"], o["strides"], o["dilations"]
    top, _, left, _ = o["padding"]
    for n, c, i, j in np.ndindex(*x.shape[:2], *sizes):
        rows = [r for p in range(kh) if 0 <= (r := i * sh + p * dh - top) < height]
        columns = [r for q in range(kw) if 0 <= (r := j * sw + q * dw - left) < width]
        yield (n, c, i, j), x[n, c][np.ix_(rows, columns)].ravel()


@st.composite
def pools(draw: st.DrawFn, dtypes: st.SearchStrategy[str]) -> tuple[np.ndarray, dict[str, Any], tuple[int, int]]:
    window, strides, dilations = draw(pairs), draw(pairs), draw(pairs)
    padding = draw(st.tuples(*[st.integers(0, 2)] * 4))
    extents = [(k - 1) * d + 1 for k, d in zip(window, dilations)]
    least = [max(1, extents[i] - padding[2 * i] - padding[2 * i + 1]) for i in (0, 1)]
    sizes = [draw(st.integers(low, low + 4)) for low in least]
    rooms = [sizes[i] + padding[2 * i] + padding[2 * i + 1] - extents[i] for i in (0, 1)]
    rounding = draw(st.sampled_from(["floor", "ceil"]))
    outputs = tuple((math.ceil if rounding == "ceil" else math.floor)(r / s) + 1 for r, s in zip(rooms, strides))
    options = {"window_dimensions": window, "strides": strides, "dilations": dilations, "padding": padding}
    options |= draw(st.sampled_from([{"output_shape_rounding": rounding}, {"output_sizes": outputs}]))
    return draw(arrays((draw(st.integers(1, 2)), draw(st.integers(1, 2)), *sizes), draw(dtypes))), options, outputs


def pool(name: str, x: np.ndarray, options: dict[str, Any], layout: str) -> np.ndarray:
    """The result of an nchw input, computed in a layout and transposed back."""
    given = x if layout == "nchw" else x.transpose(0, 2, 3, 1)
    (y,) = run(name, input=given, layout=layout, **options)
    return y if layout == "nchw" else y.transpose(0, 3, 1, 2)


layouts = st.sampled_from(["nchw", "nhwc"])


@given(pools(float_types), layouts, st.sampled_from(["average_pool2d", "l2_pool2d"]))
def test_mean_and_norm(case: tuple[Any, ...], layout: str, name: str) -> None:
    x, options, sizes = case
    exact = np.empty((*x.shape[:2], *sizes))
    for at, elements in windows(x.astype(np.float64), sizes, options):
        if name == "l2_pool2d":
            exact[at] = math.hypot(*elements)
        else:
            exact[at] = math.fsum(elements) / len(elements) if len(elements) else math.nan
    assert_rounded(pool(name, x, options, layout), exact)


@given(pools(st.sampled_from(WEBNN_TYPES)), layouts)
def test_maximum(case: tuple[Any, ...], layout: str) -> None:
    x, options, sizes = case
    lowest = -math.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    exact = np.empty((*x.shape[:2], *sizes), x.dtype)
    for at, elements in windows(x, sizes, options):
        exact[at] = max(elements, default=lowest)
    np.testing.assert_array_equal(pool("max_pool2d", x, options, layout), exact)


def test_padding_is_no_element() -> None:
    x = np.array([[-1, -2], [-3, -6]], np.float32).reshape(1, 1, 2, 2)
    options: dict[str, Any] = {"window_dimensions": (2, 2), "padding": (1, 0, 1, 0)}
    np.testing.assert_array_equal(run("max_pool2d", input=x, **options)[0][0, 0], [[-1, -1], [-1, -1]])
    np.testing.assert_array_equal(run("average_pool2d", input=x, **options)[0][0, 0], [[-1, -1.5], [-2, -3]])


@pytest.mark.parametrize("name", ["average_pool2d", "l2_pool2d", "max_pool2d"])
def test_nan_stays_in_its_windows(name: str) -> None:
    x = np.ones((1, 1, 3, 1), np.float32)
    x[0, 0, 0] = math.nan
    (y,) = run(name, input=x, window_dimensions=(1, 1))
    np.testing.assert_array_equal(np.isnan(y.ravel()), [True, False, False])


def test_half_precision_sums_in_more() -> None:
    x = np.full((1, 1, 64, 64), 60000, np.float16)
    assert run("average_pool2d", input=x)[0].item() == 60000


def test_the_default_window_is_the_input() -> None:
    assert infer("max_pool2d", input="u8[n, 7, 9, c]", layout="nhwc") == ["uint8[n, 1, 1, c]"]
    assert infer("average_pool2d", input="f32[n, c, h, w]") == ["float32[n, c, 1, 1]"]
    halved = infer("max_pool2d", input="f32[n, c, h, 8]", window_dimensions=(2, 2), strides=(2, 2))
    assert halved == ["float32[n, c, ((h - 2) // (2)) + 1, 4]"]
