"""Normalisations over any axes, in any layout, with and without factors."""

from __future__ import annotations

import numpy as np
import pytest

from .one_operator import FLOATS, check, numbers

each_type = pytest.mark.parametrize("dtype", FLOATS)
NEAR = {"float32": 1e-3}


def positive(dtype: str, *shape: int) -> np.ndarray:
    return np.abs(numbers(dtype, *shape)) + np.asarray(0.1, numbers(dtype).dtype)


@each_type
@pytest.mark.parametrize("axis", [0, 1, 3])
@pytest.mark.parametrize("factors", [(), ("scale",), ("scale", "bias")])
def test_batch_normalization(dtype: str, axis: int, factors: tuple[str, ...]) -> None:
    x = numbers(dtype, 2, 3, 4, 5)
    size = x.shape[axis]
    operands = {"input": x, "mean": numbers(dtype, size), "variance": positive(dtype, size)}
    check("batch_normalization", operands | {f: numbers(dtype, size, seed=1) for f in factors}, axis=axis)


@each_type
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_instance_normalization(dtype: str, layout: str) -> None:
    x = numbers(dtype, 2, 3, 4, 5)
    operands = {"input": x, "scale": numbers(dtype, x.shape[layout.index("c")])}
    check("instance_normalization", operands, layout=layout, epsilon=0.1, tolerance=NEAR.get(dtype))


@each_type
@pytest.mark.parametrize("axes", [None, (2, 3), (3, 2), (1,), (3, 1), (), (3,)])
def test_layer_normalization(dtype: str, axes: tuple[int, ...] | None) -> None:
    x = numbers(dtype, 2, 3, 4, 5)
    shape = [x.shape[axis] for axis in (axes if axes is not None else (1, 2, 3))]
    operands = {"input": x, "scale": numbers(dtype, *shape), "bias": numbers(dtype, *shape, seed=1)}
    check("layer_normalization", operands, axes=axes, tolerance=NEAR.get(dtype))
    check("layer_normalization", [x], axes=axes, tolerance=NEAR.get(dtype), again=False)


@each_type
def test_products(dtype: str) -> None:
    a, b = numbers(dtype, 4, 3), numbers(dtype, 2, 4)
    near = {"float16": 0.1, "bfloat16": 0.5}.get(dtype)
    flags = {"a_transpose": True, "b_transpose": True}
    check("gemm", {"a": a, "b": b, "c": numbers(dtype, 2)}, alpha=0.3, beta=1.7, tolerance=near, **flags)
    check("gemm", {"a": a, "b": numbers(dtype, 3, 4), "c": numbers(dtype)}, alpha=0.5, tolerance=near)
    check("gemm", {"a": a, "b": numbers(dtype, 3, 4)}, tolerance=near)
    check("matmul", [numbers(dtype, 2, 1, 3, 4), numbers(dtype, 5, 4, 2)], tolerance=near)
