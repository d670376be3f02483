"""Compiled running products and max pooling with indices, against their NumPy semantics."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ..compiled.forms import EXACT, Bench, Tolerance, fill


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint64"])
@pytest.mark.parametrize(("axis", "shape"), [(1, (3, 40, 2)), (0, (5, 300)), (2, (2, 3, 33))])
def test_cumulative_product(dtype: str, axis: int, shape: tuple[int, ...]) -> None:
    bench = Bench(Random(axis))
    x = bench.operand(fill(bench, shape, dtype, wild=dtype == "int32"), dtype)
    y = bench.maker.call("cumulative_product", x, axis, exclusive=axis == 1, reversed=axis == 2)
    bench.check(bench.result(y), Tolerance(ulps=1.0))


POOLS: list[dict[str, Any]] = [
    {},
    {"padding": (1, 1, 1, 0), "strides": (2, 1), "dilations": (1, 2)},
    {"padding": (4, 4, 4, 4), "strides": (3, 3), "output_shape_rounding": "ceil", "column_major": True},
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int8", "uint8"])
@pytest.mark.parametrize("case", range(len(POOLS)))
def test_max_pool_indices(dtype: str, case: int) -> None:
    bench = Bench(Random(case))
    x = bench.operand(fill(bench, (2, 3, 9, 8), dtype, wild=case > 0), dtype)
    values, places = bench.maker.call("max_pool_indices", x, (3, 2), **POOLS[case])
    bench.check([*bench.result(values), *bench.result(places)], EXACT)
