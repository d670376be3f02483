"""QuantizeLinear and DequantizeLinear, beyond onnx's own cases."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ValidationError

from .nodes import run, same
from .peer import onnxruntime_run

RANGES = {
    2: (0, 255),
    3: (-128, 127),
    4: (0, 65535),
    5: (-32768, 32767),
    21: (0, 15),
    22: (-8, 7),
    25: (0, 3),
    26: (-2, 1),
}


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("code", RANGES)
def test_integers_round_to_even_and_saturate(code: int) -> None:
    low, high = RANGES[code]
    x = f32(0.5, 1.5, -0.5, 1e30, -1e30, np.inf, -np.inf, np.nan)
    got = run("QuantizeLinear", 25, x, f32(1)[0], output_dtype=code)
    expected = [0, min(2, high), 0, high, low, high, low, 0]
    assert got.astype(np.int64).tolist() == expected
    back = run("DequantizeLinear", 25, got, f32(0.5)[0])
    same(back, f32(*(0.5 * v for v in expected)))


def test_default_is_uint8_and_the_zero_point_decides() -> None:
    assert run("QuantizeLinear", 10, f32(3), f32(1)[0]).dtype == np.uint8
    same(run("QuantizeLinear", 10, f32(3, 200), f32(1)[0], np.array(-100, np.int8)), np.array([-97, 100], np.int8))
    same(run("QuantizeLinear", 13, np.array([7], np.int32), f32(2)[0]), np.array([4], np.uint8))


@given(st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=20), st.floats(2**-6, 10, width=32))
def test_like_the_formula(values: list[float], scale: float) -> None:
    x = f32(*values)
    got = run("QuantizeLinear", 13, x, f32(scale)[0], np.array(3, np.uint8))
    expected = np.clip(np.rint(x / np.float32(scale)).astype(np.int64) + 3, 0, 255)
    assert got.tolist() == expected.tolist()


def test_axis_and_blocks() -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    scale = np.array([[1, 2], [4, 8]], np.float32)
    whole = np.repeat(scale, 4, axis=1)[:, :6]
    same(run("QuantizeLinear", 21, x, scale, axis=-1, block_size=4), np.rint(x / whole).astype(np.uint8))
    same(run("DequantizeLinear", 21, x.astype(np.int8), scale, axis=1, block_size=4), x * whole)
    same(run("QuantizeLinear", 13, x, f32(1, 2), axis=0), np.rint(x / f32(1, 2)[:, None]).astype(np.uint8))
    same(run("DequantizeLinear", 13, x.astype(np.int8), f32(3), axis=0), x * 3)
    same(run("QuantizeLinear", 21, f32(2, 4), f32(1, 2)), np.array([2, 2], np.uint8))


def test_precision_decides_about_the_division() -> None:
    x, scale = f32(1.0005), np.float32(1)
    third = np.float32(1 / 3)
    same(run("QuantizeLinear", 23, f32(0.8335), third, output_dtype=4), np.array([3], np.uint16))
    # 0.8335 and 1/3 in float16 divide to a little less than 2.5, which rounds to the even 2.
    in_half = np.rint(np.float16(0.8335) / np.float16(third)).astype(np.uint16)
    same(run("QuantizeLinear", 23, f32(0.8335), third, output_dtype=4, precision=10), np.array([in_half]))
    got = run("QuantizeLinear", 23, x, np.float16(1), output_dtype=17)
    same(got, np.array([1]).astype(ml_dtypes.float8_e4m3fn))
    with pytest.raises(ValidationError, match="floating-point"):
        run("QuantizeLinear", 23, x, scale, precision=17)


def test_scales_that_are_powers_of_two() -> None:
    scale = np.array([2]).astype(ml_dtypes.float8_e8m0fnu)[0]
    same(run("QuantizeLinear", 25, f32(7), scale), np.array([4], np.uint8))
    same(run("DequantizeLinear", 25, np.array([7], np.uint8), scale, output_dtype=1), f32(14))
    with pytest.raises(ValidationError, match="output_dtype"):
        run("DequantizeLinear", 25, np.array([7], np.uint8), scale)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
def test_floats(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    zero = np.zeros((), dtype)
    got = run("QuantizeLinear", 28, f32(1, -3, 1e9, -0.0), f32(2)[0], zero).astype(np.float32)
    largest = float(ml_dtypes.finfo(dtype).max)
    same(got, f32(0.5, -1.5, largest, -0.0))
    same(run("DequantizeLinear", 28, got.astype(dtype), f32(2)[0], zero), f32(1, -3, 2 * largest, -0.0))


def test_float8_without_saturation() -> None:
    got = run("QuantizeLinear", 19, f32(1e9), f32(1)[0], np.zeros((), ml_dtypes.float8_e5m2), saturate=0)
    same(got.astype(np.float32), f32(np.inf))


def test_dequantize_in_float16_goes_through_float32() -> None:
    got = run("DequantizeLinear", 21, np.array([65535], np.uint16), np.float16(0.5))
    same(got, np.array([32768], np.float16))
    same(
        run("DequantizeLinear", 23, np.array([3], np.int8), f32(0.5)[0], output_dtype=16),
        np.array([1.5]).astype(ml_dtypes.bfloat16),
    )
    big = np.array([2**31 - 1, -(2**31)], np.int32)
    same(run("DequantizeLinear", 10, big, f32(1)[0]), big.astype(np.float32))


@pytest.mark.parametrize("code", [2, 3, 4, 5])
def test_like_onnxruntime(code: int) -> None:
    dtype = {2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16}[code]
    rng = np.random.default_rng(code)
    x = rng.normal(0, 300, (3, 16)).astype(np.float32)
    scale, zero = rng.uniform(0.5, 2, (3, 2)).astype(np.float32), rng.integers(0, 50, (3, 2)).astype(dtype)
    quantized = run("QuantizeLinear", 21, x, scale, zero, axis=1, block_size=8)
    same(quantized, onnxruntime_run("QuantizeLinear", 21, x, scale, zero, axis=1, block_size=8)[0])
    expected = onnxruntime_run("DequantizeLinear", 21, quantized, scale, zero, axis=1, block_size=8)[0]
    same(run("DequantizeLinear", 21, quantized, scale, zero, axis=1, block_size=8), expected)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ((f32(1), f32(1, 2)), {}, "expected a scalar or \\(1,\\)"),
        ((f32(1, 2), f32(1, 2), np.zeros(1, np.uint8)), {}, "y_zero_point"),
        ((np.zeros((2, 4)), np.ones((2, 3), np.float32)), {"block_size": 2, "axis": 1}, "expected \\(2, 2\\)"),
        ((np.zeros((2, 4)), np.ones((2, 2), np.float32)), {"block_size": -1}, "block_size"),
        ((np.zeros((2, 4)), np.ones(4, np.float32)), {"axis": 2}, "'axis' is 2"),
        ((f32(1), f32(1)[0], np.array(0, np.int8)), {"output_dtype": 2}, "expected output_dtype uint8"),
        ((f32(1), f32(1)[0]), {"output_dtype": 1}, "quantised type"),
    ],
)
def test_wrong_values(inputs: tuple[Any, ...], attributes: dict[str, int], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        run("QuantizeLinear", 21, *inputs, **attributes)


def test_wrong_values_of_dequantize() -> None:
    with pytest.raises(ValidationError, match="expected int8"):
        run("DequantizeLinear", 13, np.zeros(1, np.int8), f32(1)[0], np.array(0, np.uint8))
    with pytest.raises(ValidationError, match="shape"):
        run("DequantizeLinear", 10, np.zeros(3, np.int8), f32(1, 2))
