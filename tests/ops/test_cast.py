"""Casts between all data types against exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.ops.casts import cast
from basalt.ops.convert import cast_number
from basalt.ops.types import integer_bounds

from .calling import ANY, FLOATS, INTS, array, assert_same_bits, output, seeds, shapes
from .test_elementwise_int import wrap


def nearest(value: Fraction, dtype: str) -> float:
    """The float of a data type nearest to a number, to even if halfway, as the standard's ConvertToFloat says."""
    info = ml_dtypes.finfo(dtype)
    sign, size = (-1 if value < 0 else 1), abs(value)
    if size == 0:
        return 0.0
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, info.minexp)
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - info.nmant)
    rounded = round(size / step) * step
    return sign * (math.inf if rounded > Fraction(float(info.max)) else float(rounded))


def _expected(value: float | int, dtype: str) -> float | int:
    if dtype in INTS:
        if isinstance(value, int):
            return wrap(value, dtype)
        low, high = integer_bounds(dtype)
        return 0 if math.isnan(value) else high if value >= high else low if value <= low else math.trunc(value)
    if isinstance(value, float) and not math.isfinite(value):
        return value
    return nearest(Fraction(value), dtype)


@pytest.mark.parametrize("source", ANY)
@given(target=st.sampled_from(ANY), shape=shapes(), seed=seeds)
def test_cast(source: str, target: str, shape: tuple[int, ...], seed: int) -> None:
    x = array(source, shape, seed)
    wanted = np.array([_expected(v, target) for v in x.ravel().tolist()], target).reshape(shape)
    np.testing.assert_array_equal(output("cast", x, target), wanted, strict=True)


@pytest.mark.parametrize("dtype", ANY)
def test_cast_to_its_own_data_type_keeps_every_bit(dtype: str) -> None:
    x = array(dtype, (500,), 7)
    assert_same_bits(output("cast", x, dtype), x)


@pytest.mark.parametrize("target", INTS)
def test_every_float16_as_integer(target: str) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    wanted = np.array([_expected(v, target) for v in x.tolist()], target)
    assert_same_bits(output("cast", x, target), wanted)


@given(value=st.one_of(st.integers(-(2**70), 2**70), st.integers(-(10**400), 10**400)), target=st.sampled_from(FLOATS))
def test_integers_of_any_size_are_rounded_once(value: int, target: str) -> None:
    assert cast_number(value, target) == nearest(Fraction(value), target)


@given(exponent=st.integers(24, 62), offset=st.integers(-2, 2), odd=st.booleans())
def test_integers_beside_a_tie_of_float32(exponent: int, offset: int, odd: bool) -> None:
    value = 2**exponent + (3 if odd else 1) * 2 ** (exponent - 24) + offset
    assert cast_number(value, "float32") == nearest(Fraction(value), "float32")
    assert float(cast(np.array(value), "float32")) == nearest(Fraction(value), "float32")


@given(value=st.floats(-1e30, 1e30), bits=st.integers(-40, -8), target=st.sampled_from(["bfloat16", "float16"]))
def test_doubles_are_rounded_once(value: float, bits: int, target: str) -> None:
    beside = math.copysign(math.ldexp(math.frexp(value)[0], 8) // 1, value) * 2 + 1
    for number in (value, beside + math.ldexp(1.0, bits), beside - math.ldexp(1.0, bits), beside):
        assert float(cast(np.array(number), target)) == nearest(Fraction(number), target)


@given(high=st.integers(1, 127), offset=st.integers(-1, 1), dtype=st.sampled_from(["int64", "uint64"]))
def test_large_integers_as_bfloat16(high: int, offset: int, dtype: str) -> None:
    value = (2 * high + 1) * 2**54 + offset
    assert float(cast(np.array(value, dtype), "bfloat16")) == nearest(Fraction(value), "bfloat16")


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (2.5, "int8", 2), (3.5, "int8", 4), (-0.0, "int32", 0), (math.nan, "uint8", 0), (1e10, "int32", 2**31 - 1),
        (-math.inf, "uint64", 0), (math.inf, "int64", 2**63 - 1), (2**64, "uint64", 2**64 - 1), (300, "uint8", 255),
        (-129, "int8", -128), (2**53 + 1, "int64", 2**53 + 1), (65520, "float16", math.inf),
        (65519, "float16", 65504.0),
        (3.4028235677973366e38, "float32", math.inf), (1e-46, "float32", 0.0), (True, "float32", 1.0), (9, "int4", 7),
    ],
)  # fmt: skip
def test_cast_number(value: float | int, dtype: str, expected: float | int) -> None:
    assert cast_number(value, dtype) == expected
    assert type(cast_number(value, dtype)) is type(expected)


def test_four_bits() -> None:
    x = np.arange(-20, 20, dtype=np.int8)
    assert cast(x, "int4").astype(int).tolist() == [wrap4(v) for v in range(-20, 20)]
    assert cast(x, "uint4").astype(int).tolist() == [v % 16 for v in range(-20, 20)]
    assert cast(x.astype(np.float32), "int4").astype(int).tolist() == [min(max(v, -8), 7) for v in range(-20, 20)]
    assert cast(cast(x, "int4"), "float32").tolist() == [wrap4(v) for v in range(-20, 20)]


def wrap4(value: int) -> int:
    return (value + 8) % 16 - 8
