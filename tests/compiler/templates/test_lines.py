"""Depthwise convolutions and pools over planes whose columns are neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.lower import lower_graph
from basalt.compiler.passes.fuse import fuse

from .harness import Maker, check, numbers
from .test_conv import convolve

WINDOWS = [
    ({"h": 9, "w": 24}, {"padding": (1, 1, 1, 1)}),
    ({"h": 4, "w": 30}, {"padding": (0, 0, 0, 0)}),
    ({"h": 11, "w": 37}, {"padding": (1, 0, 0, 1), "strides": (2, 2)}),
    ({"h": 6, "w": 17, "y": 5, "x": 5}, {"padding": (2, 2, 2, 2)}),
    ({"h": 13, "w": 41, "y": 4, "x": 2}, {"padding": (3, 3, 1, 1), "strides": (3, 2)}),
    ({"h": 1, "w": 40, "y": 1, "x": 7}, {"padding": (0, 0, 3, 3)}),
    ({"h": 2, "w": 8, "y": 3, "x": 1}, {"padding": (5, 5, 0, 0)}),
]


@pytest.mark.parametrize(("sizes", "options"), WINDOWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_depthwise(sizes: dict[str, int], options: dict[str, Any], dtype: str) -> None:
    full = {"n": 2, "g": 5, "c": 1, "o": 1, "y": 3, "x": 3} | sizes
    convolve("conv2d", full, fused=True, dtype=dtype, **options)
    convolve("conv2d", full | {"o": 3}, bias=False, dtype=dtype, filter_layout="hwio", **options)


def test_weights_that_are_computed() -> None:
    convolve("conv2d", {"n": 1, "g": 4, "c": 1, "o": 2, "y": 3, "x": 3, "h": 9, "w": 20}, constant=False)


@pytest.mark.parametrize("op", ["average_pool2d", "l2_pool2d", "max_pool2d"])
@pytest.mark.parametrize(("sizes", "options"), WINDOWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pools(op: str, sizes: dict[str, int], options: dict[str, Any], dtype: str) -> None:
    window = [sizes.get("y", 3), sizes.get("x", 3)]
    padding = [min(p, window[i // 2] - 1) for i, p in enumerate(options["padding"])]
    m = Maker()
    shape = (2, 3, sizes["h"], sizes["w"])
    x = m.input("x", dtype, shape)
    y = getattr(m, op)(x, window_dimensions=window, **{**options, "padding": padding})
    check(m, {"x": numbers(1, shape, dtype)}, y=m.tanh(m.add(y, m.constant(np.array(0.25), dtype))), raw=y)


@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
def test_a_maximum_is_nan_where_an_element_is(strides: tuple[int, int]) -> None:
    """In each place of a window, at edges and inside; beside infinities, and where all elements are the lowest."""
    m = Maker()
    shape = (1, 4, 12, 40)
    x = m.input("x", "float32", shape)
    y = m.max_pool2d(x, window_dimensions=(3, 3), padding=(1, 1, 1, 1), strides=strides)
    random = np.random.default_rng(0)
    image = random.uniform(-1, 1, shape).astype(np.float32)
    image[0, 1][random.uniform(size=shape[2:]) < 0.05] = np.nan
    image[0, 2][random.uniform(size=shape[2:]) < 0.2] = np.inf
    image[0, 3] = -np.inf
    check(m, {"x": image}, y=y)


def test_nothing_is_copied() -> None:
    m = Maker()
    x = m.input("x", "float32", (1, 6, 16, 16))
    y = m.relu(m.conv2d(x, m.constant(numbers(1, (6, 1, 3, 3))), groups=6, padding=(1, 1, 1, 1)))
    (kernel,) = lower_graph(fuse(m.graph(y=y)), m.constants).kernels
    assert "lines_products_" in kernel.source


def test_many_small_planes_and_one_large_one_are_divided() -> None:
    for shape in ((3, 40, 8, 9), (1, 1, 200, 60)):
        m = Maker()
        y = m.average_pool2d(m.input("x", "float32", shape), window_dimensions=(2, 2), padding=(1, 0, 0, 1))
        check(m, {"x": numbers(2, shape)}, y=y)
