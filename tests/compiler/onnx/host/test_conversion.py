"""Conversion between numeric types: every value of the small formats, exact rounding, what lies out of range."""

from __future__ import annotations

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.compiler.onnx.host.conversion import convert
from basalt.compiler.onnx.host.element_types import (
    FLOAT4,
    FLOAT6,
    FLOAT8,
    FLOAT8_E8M0,
    dtype_of_code,
    is_float,
    is_integer,
)
from basalt.compiler.onnx.host.registry import HostNode

BY_CODE = {code: dtype_of_code(HostNode("Cast", 28), code, "to") for code in range(1, 29)}

NUMERIC = [dtype for code, dtype in BY_CODE.items() if code != 8]
SMALL_FLOATS = sorted([*FLOAT8, *FLOAT6, FLOAT4], key=str)
SMALL_INTEGERS = [np.dtype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)]


def finite_values(dtype: np.dtype) -> list[float]:
    """All finite values of a small float, rising, once each."""
    width = 4 if dtype == FLOAT4 else 6 if dtype in FLOAT6 else 8
    values = np.arange(2**width, dtype=np.uint8).view(dtype).astype(np.float64)
    return sorted(set(values[np.isfinite(values)].tolist()))


@pytest.mark.parametrize("dtype", SMALL_FLOATS, ids=str)
def test_small_floats_round_to_the_nearest_value(dtype: np.dtype) -> None:
    values = finite_values(dtype)
    assert convert(np.array(values), dtype).astype(np.float64).tolist() == values
    for low, high in itertools.pairwise(values):
        middle = (low + high) / 2
        even = low if (low / (high - low)) % 2 == 0 else high
        asked = [middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)]
        assert convert(np.array(asked), dtype).astype(np.float64).tolist() == [even, low, high]


@given(st.floats(min_value=-3.3e38, max_value=3.3e38))
def test_bfloat16_rounds_once(value: float) -> None:
    got = float(convert(np.array([value]), np.dtype(ml_dtypes.bfloat16)).astype(np.float64)[0])
    exponent = max(np.frexp(value)[1] - 1, -126)
    assert Fraction(got) == round(Fraction(value) / Fraction(2) ** int(exponent - 7)) * Fraction(2) ** int(exponent - 7)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([np.float16, ml_dtypes.bfloat16, np.float32, np.float64]))
def test_large_integers_round_once(value: int, target: type) -> None:
    dtype = np.dtype(target)
    got = float(convert(np.array([value], np.int64), dtype).astype(np.float64)[0])
    digits = {2: 11 if dtype == np.float16 else 8, 4: 24, 8: 53}[dtype.itemsize]
    shift = max(abs(value).bit_length() - digits, 0)
    exact = Fraction(abs(value), 2**shift)
    rounded = round(exact) * 2**shift * (1 if value >= 0 else -1)
    expected = float(rounded) if dtype != np.float16 or abs(rounded) <= 65504 else np.copysign(np.inf, rounded)
    assert got == expected
    unsigned = float(convert(np.array([abs(value)], np.uint64), dtype).astype(np.float64)[0])
    assert unsigned == abs(expected)


# Rows of the tables in Cast's documentation: NaN, infinity, beyond the largest value, below the smallest, -0.
SATURATED = {17: (448, True), 18: (240, False), 19: (57344, True), 20: (57344, False)}


@pytest.mark.parametrize("code", SATURATED)
def test_float8_tables(code: int) -> None:
    dtype, (largest, signed_zero) = BY_CODE[code], SATURATED[code]
    special = np.array([np.nan, np.inf, -np.inf, 1e9, -1e9, -0.0, 0.0], np.float32)
    clamped = convert(special, dtype).astype(np.float32)
    np.testing.assert_array_equal(clamped, [np.nan, largest, -largest, largest, -largest, 0, 0])
    assert np.signbit(clamped[5]) == signed_zero
    lost = convert(special, dtype, saturate=False).astype(np.float32)
    end = np.inf if code == 19 else np.nan
    np.testing.assert_array_equal(lost, [np.nan, end, -end, end, -end, 0, 0])
    if code == 17:
        # Up to half a step beyond the largest value still rounds to it.
        np.testing.assert_array_equal(convert(np.array([464.0, 464.1]), dtype, False).astype(np.float32), [448, np.nan])


def test_float6_and_float4_always_saturate() -> None:
    for dtype, largest in ((BY_CODE[23], 6), (BY_CODE[27], 7.5), (BY_CODE[28], 28)):
        for saturate in (True, False):
            got = convert(np.array([1e9, -np.inf, -0.0]), dtype, saturate).astype(np.float32)
            np.testing.assert_array_equal(got, [largest, -largest, -0.0])
            assert np.signbit(got[2])


def e8m0(values: list[float], **how: object) -> list[float]:
    return convert(np.array(values), FLOAT8_E8M0, **how).astype(np.float64).tolist()


def test_float8e8m0() -> None:
    low, high = 2.0**-127, 2.0**127
    assert e8m0([0.0, 0.124, 0.25, 1.1, 1.5, 3.0]) == [low, 0.125, 0.25, 2, 2, 4]
    assert e8m0([0.124, 1.1, 1.5, 3.0, 0.25], round_mode="down") == [0.0625, 1, 1, 2, 0.25]
    assert e8m0([1.1, 1.5, 2.9, 3.0, 1.4999], round_mode="nearest") == [1, 2, 2, 4, 1]
    assert e8m0([np.inf, 2.0**128, 2.0**-130, 1.2 * low]) == [high, high, low, 2 * low]
    outside = e8m0([0.0, np.inf, np.nan, 2.0**128, 2.0**-130], round_mode="nearest", saturate=False)
    assert np.isnan(outside).all()
    assert np.isnan(e8m0([np.nan])).all()
    assert e8m0([1 + 2**-40]) == [2]


def test_floats_to_integers() -> None:
    x = np.array([1.9, -1.9, 300, -300, 1e30, -np.inf, np.nan], np.float32)
    assert convert(x, np.dtype(np.int8)).tolist() == [1, -1, 127, -128, 127, -128, 0]
    assert convert(x, np.dtype(np.uint8)).tolist() == [1, 0, 255, 0, 255, 0, 0]
    assert convert(x, np.dtype(np.int64)).tolist() == [1, -1, 300, -300, 2**63 - 1, -(2**63), 0]
    assert convert(x, np.dtype(np.uint64)).tolist() == [1, 0, 300, 0, 2**64 - 1, 0, 0]
    assert convert(np.array([2.0**63, 2.0**64]), np.dtype(np.uint64)).tolist() == [2**63, 2**64 - 1]
    x = np.array([1.9, -9, 8, 20, np.inf, np.nan, 1e30])
    assert convert(x, BY_CODE[22]).astype(int).tolist() == [1, 7, -8, 4, 0, 0, 0]
    assert convert(x, BY_CODE[21]).astype(int).tolist() == [1, 7, 8, 4, 0, 0, 0]
    assert convert(np.array([-3, -2, -1, 0, 1, 2, 3.9]), BY_CODE[26]).astype(int).tolist() == [1, -2, -1, 0, 1, -2, -1]


def test_integers_to_integers_keep_their_low_bits() -> None:
    x = np.array([200, -56, 2**40 + 3, -1])
    assert convert(x, np.dtype(np.int8)).tolist() == [-56, -56, 3, -1]
    for small in SMALL_INTEGERS:
        size = 16 if "4" in small.name else 4
        values = convert(np.arange(-20, 20), small).astype(int)
        assert ((values - np.arange(-20, 20)) % size == 0).all()
        for other in [*SMALL_INTEGERS, np.dtype(np.uint64), np.dtype(np.int16)]:
            back = convert(convert(np.arange(-2, 4), small), other).astype(np.int64)
            width = 16 if "4" in other.name else 4 if other in SMALL_INTEGERS else 2 ** (8 * other.itemsize)
            assert ((back - convert(np.arange(-2, 4), small).astype(int)) % min(width, 2**16) == 0).all()


@pytest.mark.parametrize("source", NUMERIC, ids=str)
def test_every_pair_of_types_keeps_small_whole_numbers(source: np.dtype) -> None:
    for target in NUMERIC:
        numbers = [1.0] if FLOAT8_E8M0 in (source, target) else [0.0, 1.0]
        x = convert(np.array(numbers), source)
        assert x.dtype == source
        y = convert(x, target)
        assert (y.dtype, y.shape) == (target, x.shape)
        real = y.real if y.dtype.kind == "c" else y
        assert real.astype(np.float32).tolist() == numbers
        assert convert(x[-1:].reshape(()), target).shape == ()


def test_bool_and_complex() -> None:
    assert convert(np.array([0.0, -0.0, 0.5, np.nan]), np.dtype(np.bool_)).tolist() == [False, False, True, True]
    assert convert(np.array([0, 1j]), np.dtype(np.bool_)).tolist() == [False, True]
    assert convert(np.array([1.5 + 2j]), np.dtype(np.int8)).tolist() == [1]
    assert convert(np.array([True]), BY_CODE[17]).astype(np.float32).tolist() == [1]
    assert all(is_float(d) or is_integer(d) or d.kind in "bc" for d in NUMERIC)
