"""Compiled sampling operators, against their NumPy semantics."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import numpy as np
import pytest

from ..compiled.forms import Bench, Tolerance

CLOSE = Tolerance(scaled=1e-5, absolute=1e-6, signed_zeros=False)
MODES = [
    (rank, mode, padding, align)
    for rank, mode, padding, align in itertools.product(
        (2, 3), ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (False, True)
    )
    if rank == 2 or (mode != "cubic" and align)
]


def _places(rank: int, seed: int) -> np.ndarray:
    shape = (2, *((4, 7) if rank == 2 else (2, 3, 4)), rank)
    grid = np.random.default_rng(seed).uniform(-1.8, 1.8, shape).astype(np.float32)
    grid.reshape(-1)[:6] = [np.nan, np.inf, -np.inf, 1e30, -1, 1]
    return grid


@pytest.mark.parametrize(("rank", "mode", "padding", "align"), MODES)
def test_grid_sample(rank: int, mode: str, padding: str, align: bool) -> None:
    bench = Bench(Random(rank))
    image = np.random.default_rng(3).normal(size=(2, 3, *((5, 6) if rank == 2 else (3, 1, 5))))
    operands = [bench.input(image, "float32"), bench.input(_places(rank, 4), "float32")]
    options = {"mode": mode, "padding_mode": padding, "align_corners": align}
    bench.check([bench.maker.call("grid_sample", *operands, **options)], CLOSE)


@pytest.mark.parametrize(
    ("dtype", "grid_dtype"), [("float16", "float32"), ("float64", "float64"), ("float32", "float16")]
)
def test_grid_sample_of_other_types_and_layouts(dtype: str, grid_dtype: str) -> None:
    bench = Bench(Random(5))
    image = bench.operand(np.random.default_rng(3).normal(size=(2, 3, 5, 6)), dtype, ("transposed", "reversed"))
    grid = bench.operand(np.nan_to_num(_places(2, 4), posinf=9, neginf=-9).clip(-9, 9), grid_dtype, ("transposed",))
    result = bench.maker.call("grid_sample", image, grid)
    bench.check(bench.result(result), Tolerance(scaled=1e-3 if dtype == "float16" else 1e-5, signed_zeros=False))


REGIONS = np.array(
    [[0, 0, 8, 8], [1.5, 2.5, 5, 3], [-3, -2, 12, 14], [5, 5, 2, 2], [0, 0, 0, 0], [100, 100, 200, 200],
     [np.nan, 0, 1, 1], [0, 0, np.inf, 3], [-1e30, -1e30, 1e30, 1e30], [-np.inf, 0, 5, 5]],
)  # fmt: skip


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("half_pixel", [True, False])
@pytest.mark.parametrize(("sampling_ratio", "bins"), [(0, (2, 3)), (2, (1, 1))])
def test_roi_align(mode: str, half_pixel: bool, sampling_ratio: int, bins: tuple[int, int]) -> None:
    bench = Bench(Random(3))
    images = bench.operand(np.random.default_rng(1).normal(size=(2, 70, 9, 8)), "float32", ("plain", "reversed"))
    rois = bench.input(REGIONS, "float32")
    batch = bench.input(np.array([0, 1, 1, 0, 1, 0, 7, -5, 0, 1]), "int64")
    sizes = {"output_height": bins[0], "output_width": bins[1], "sampling_ratio": sampling_ratio}
    options = {"mode": mode, "half_pixel": half_pixel, "spatial_scale": 0.9}
    bench.check(bench.result(bench.maker.call("roi_align", images, rois, batch, **options, **sizes)), CLOSE)


DEFORMED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 4, 7, 8), (6, 2, 3, 2), {"padding": (1, 1, 0, 2), "strides": (1, 2), "groups": 2, "offset_groups": 2}),
    ((2, 3, 7, 8), (2, 3, 3, 3), {"dilations": (2, 1)}),
    ((1, 4, 9, 9), (4, 1, 1, 1), {"groups": 4}),
]


@pytest.mark.parametrize("case", range(len(DEFORMED)))
@pytest.mark.parametrize("full", [False, True])
def test_deform_conv(case: int, full: bool) -> None:
    bench, numbers = Bench(Random(case + full)), np.random.default_rng(case)
    x_shape, w_shape, options = DEFORMED[case]
    x = bench.operand(numbers.normal(size=x_shape), "float32", ("plain", "transposed", "reversed"))
    weights = numbers.normal(size=w_shape)
    w = bench.maker.constant(weights) if full else bench.input(weights, "float32")
    pad, stride = options.get("padding", (0,) * 4), options.get("strides", (1, 1))
    spread = options.get("dilations", (1, 1))
    places = [
        (x_shape[2 + i] + pad[2 * i] + pad[2 * i + 1] - (w_shape[2 + i] - 1) * spread[i] - 1) // stride[i] + 1
        for i in (0, 1)
    ]
    taps = options.get("offset_groups", 1) * w_shape[2] * w_shape[3]
    offset = numbers.normal(size=(x_shape[0], taps * 2, *places)) * 2
    offset.reshape(-1)[:4] = [np.nan, np.inf, -np.inf, 1e30]
    given = {}
    if full:
        given["bias"] = bench.input(numbers.normal(size=w_shape[0]), "float32")
        given["mask"] = bench.input(numbers.uniform(size=(x_shape[0], taps, *places)), "float32")
    result = bench.maker.call("deform_conv", x, w, bench.input(offset, "float32"), **given, **options)
    bench.check(bench.result(result), CLOSE)
