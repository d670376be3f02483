"""Compiled sampling operators, against their NumPy semantics."""

from __future__ import annotations

import itertools
from random import Random

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
