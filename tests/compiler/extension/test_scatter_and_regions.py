"""Compiled scattering with reductions, pooling over regions, interpolation, against their NumPy semantics."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from ..compiled.forms import EXACT, Bench, Tolerance, fill

ROUNDED = Tolerance(ulps=1.0, signed_zeros=False)
PLACES = np.array([[0, 1], [2, -1], [0, 1], [9, -9], [1, 0], [0, 1]])


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "uint64"])
def test_scatter_nd_reduce(reduction: str, dtype: str) -> None:
    bench = Bench(Random(len(dtype)))
    x = bench.operand(fill(bench, (3, 4, 5), dtype, wild=False), dtype)
    indices = bench.operand(PLACES, "int64", ("plain", "transposed", "reversed"))
    updates = bench.operand(fill(bench, (6, 5), dtype, wild=False), dtype)
    y = bench.maker.call("scatter_nd_reduce", x, indices, updates, reduction)
    bench.check(bench.result(y), ROUNDED if reduction in ("add", "mul") else EXACT)


def test_scatter_nd_reduce_of_single_elements_and_of_nothing() -> None:
    for count in (0, 1, 40):
        bench = Bench(Random(count))
        x = bench.input(np.arange(7), "int32")
        indices = bench.input(np.arange(count)[:, None] % 9 - 1, "int32")
        updates = bench.input(np.arange(count), "int32")
        bench.check([bench.maker.call("scatter_nd_reduce", x, indices, updates, "add")], EXACT)


@pytest.mark.parametrize("reduction", ["add", "max"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("form", ["plain", "transposed", "stretched"])
def test_scatter_elements_reduce(reduction: str, axis: int, form: str) -> None:
    bench = Bench(Random(axis))
    x = bench.operand(fill(bench, (4, 5, 6), "float32", wild=False), "float32")
    indices = np.random.default_rng(axis).integers(-9, 9, (4, 3, 5))
    places = bench.operand(indices, "int64", (form,))
    updates = bench.operand(fill(bench, (4, 3, 5), "float32", wild=False), "float32")
    y = bench.maker.call("scatter_elements_reduce", x, places, updates, reduction, axis=axis)
    bench.check(bench.result(y), ROUNDED)


ROIS = np.array(
    [[0, 0, 0, 7, 8], [1, 1.5, 2.5, 5, 3], [1, -3, -2, 12, 14], [0, 5, 5, 2, 2], [7, 0, 0, 0, 0],
     [-5, 100, 100, 200, 200], [np.nan, np.nan, 0, 1, 1],
     [0, 0, 0, np.inf, 3], [1, -1e30, -1e30, 1e30, 1e30], [0, -np.inf, 0, 5, 5]],
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize(("bins", "scale"), [((1, 1), 1.0), ((3, 2), 0.9), ((7, 7), 0.31)])
def test_max_roi_pool(dtype: str, bins: tuple[int, int], scale: float) -> None:
    bench = Bench(Random(bins[0]))
    image = np.random.default_rng(1).normal(size=(2, 3, 9, 8))
    image[0, 1, 4, 4] = np.nan
    images = bench.operand(image, dtype, ("plain", "transposed", "reversed"))
    rois = bench.input(ROIS.clip(-6e4, 6e4) if dtype == "float16" else ROIS, dtype)
    options = {"output_height": bins[0], "output_width": bins[1], "spatial_scale": scale}
    bench.check(bench.result(bench.maker.call("max_roi_pool", images, rois, **options)), EXACT)


def test_max_roi_pool_of_wide_images() -> None:
    bench = Bench(Random(7))
    images = bench.operand(np.random.default_rng(1).normal(size=(1, 2, 3, 700)), "float32", ("plain",))
    rois = bench.input(np.array([[0, 3, 0, 650, 2], [0, -40, 1, 900, 1], [0, 256, 0, 511, 2]]), "float32")
    bench.check([bench.maker.call("max_roi_pool", images, rois, output_height=2, output_width=5)], EXACT)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "uint16", "int64"])
@pytest.mark.parametrize("axes", [(2, 3), (1, 2), (3, 1)])
def test_interpolate2d(dtype: str, axes: tuple[int, int]) -> None:
    bench = Bench(Random(axes[0]))
    x = bench.operand(fill(bench, (2, 5, 6, 7), dtype, wild=False), dtype)
    y = bench.maker.call("interpolate2d", x, (9, 4), (-1.5, 0.25), (0.75, 1.3), axes=axes)
    bench.check(bench.result(y), Tolerance(scaled=1e-6, ulps=1.0, signed_zeros=False))
