"""resample2d against the standard's formulas, element by element and in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import arrays, assert_rounded, infer, run

types = st.sampled_from(["float32", "float16", "uint8", "int8"])


def coordinate(i: int, size: int, count: int) -> Fraction:
    """Where output element ``i`` of ``count`` lies in the input's ``size``."""
    return min(max((i + Fraction(1, 2)) * Fraction(size, count) - Fraction(1, 2), Fraction(0)), Fraction(size - 1))


def sample(image: np.ndarray, y: Fraction, x: Fraction, mode: str) -> Fraction:
    if mode == "nearest-neighbor":
        return Fraction(float(image[math.ceil(y - Fraction(1, 2)), math.ceil(x - Fraction(1, 2))]))
    total = Fraction(0)
    for row, weight_y in ((math.floor(y), 1 - y % 1), (math.ceil(y), y % 1)):
        for column, weight_x in ((math.floor(x), 1 - x % 1), (math.ceil(x), x % 1)):
            total += Fraction(float(image[row, column])) * weight_y * weight_x
    return total


@st.composite
def resamplings(draw: st.DrawFn) -> tuple[np.ndarray, dict[str, Any], tuple[int, int]]:
    axes = draw(st.permutations(range(4)))[:2]
    x = draw(arrays(tuple(draw(st.integers(1, 5)) for _ in range(4)), draw(types)))
    counts = tuple(draw(st.integers(1, 9)) for _ in axes)
    options: dict[str, Any] = {"axes": axes, "sizes": counts}
    if draw(st.booleans()):
        del options["sizes"]
        options["scales"] = [n / x.shape[axis] for n, axis in zip(counts, axes)]
    return x, options, counts


@given(resamplings(), st.sampled_from(["nearest-neighbor", "linear"]))
def test_resample2d(case: tuple[np.ndarray, dict[str, Any], tuple[int, int]], mode: str) -> None:
    x, options, counts = case
    (y,) = run("resample2d", input=x, mode=mode, **options)
    images, results = np.moveaxis(x, options["axes"], (2, 3)), np.moveaxis(y, options["axes"], (2, 3))
    assert results.shape == (*images.shape[:2], *counts)
    sizes = images.shape[2:]
    exact = np.empty(results.shape)
    for n, c, i, j in np.ndindex(*results.shape):
        at = coordinate(i, sizes[0], counts[0]), coordinate(j, sizes[1], counts[1])
        exact[n, c, i, j] = sample(images[n, c], *at, mode)
    if x.dtype.kind == "f":
        assert_rounded(results, exact)
    else:  # to the nearest; which of two equally near ones is tested below
        assert np.abs(results - exact).max() <= 0.5 + 1e-9


def test_the_standards_example() -> None:
    rows = np.array([[0, 1, 2, 3]] * 2 + [[12, 13, 14, 15]] * 2, np.float32)
    (y,) = run("resample2d", input=rows[None, None], mode="linear", scales=(2, 2))
    columns = np.array([0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3])
    np.testing.assert_array_equal(y[0, 0], np.array([0, 0, 0, 3, 9, 12, 12, 12])[:, None] + columns)


def test_integers_round_to_nearest_even() -> None:
    x = np.array([0, 1, 2, 4], np.int8).reshape(1, 1, 1, 4)
    assert run("resample2d", input=x, mode="linear", sizes=(1, 2))[0].ravel().tolist() == [0, 3]  # 0.5, 3
    x = np.array([1, 2, -2, -3], np.int8).reshape(1, 1, 1, 4)
    assert run("resample2d", input=x, mode="linear", sizes=(1, 2))[0].ravel().tolist() == [2, -2]  # 1.5, -2.5


@pytest.mark.parametrize(
    ("size", "scale", "count"),
    [(10, 0.7, 7), (10, 0.1, 1), (3, 1 / 3, 1), (30, 0.9, 27), (7, 1.5, 10), (5, 0.39999, 1), (1, 1.9999999, 1)],
)
def test_scales_are_decimals(size: int, scale: float, count: int) -> None:
    image = f"f32[1, 1, {size}, {size}]"
    assert infer("resample2d", input=image, scales=(scale, 1)) == [f"float32[1, 1, {count}, {size}]"]


def test_symbolic_sizes() -> None:
    image = "f32[n, c, h, w]"
    assert infer("resample2d", input=image, scales=(2, 0.5)) == ["float32[n, c, 2*h, ((w) // (2))]"]
    assert infer("resample2d", input=image, sizes=(4, 6)) == ["float32[n, c, 4, 6]"]
    assert infer("resample2d", input=image) == [f"float32[{image[4:-1]}]"]
