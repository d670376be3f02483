"""Casts between every pair of types against exact arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from .loops import SUFFIXES, Loop, dtype_of
from .values import INTEGERS, assert_same, samples

Array = npt.NDArray[Any]
FLOATING = ("float32", "float64", "float16", "bfloat16")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _to_integer(x: Array, dtype: str) -> Array:
    bounds = np.iinfo(dtype)

    def one(value: Any) -> int:
        number = float(value)
        if np.isnan(number):
            return 0
        if np.isinf(number):
            return bounds.max if number > 0 else bounds.min
        return min(max(int(number), bounds.min), bounds.max)

    return np.array([one(value) for value in x], dtype)


def _nearest_half(value: float, dtype: str) -> Any:
    """`value` rounded once to a 16-bit float, ties to even."""
    kind = dtype_of(dtype)
    if not np.isfinite(value):
        return kind.type(value)
    first = kind.type(value)
    bits = int(np.asarray(first).view(np.uint16)) & 0x7FFF
    top = 0x7C00 if dtype == "float16" else 0x7F80
    scale = {"float16": 65536.0, "bfloat16": 2.0**128}[dtype]

    def real(pattern: int) -> Fraction:
        return Fraction(scale if pattern == top else float(np.array(pattern, np.uint16).view(kind)))

    near = [pattern for pattern in (bits - 1, bits, bits + 1) if 0 <= pattern <= top]
    best = min(near, key=lambda pattern: (abs(real(pattern) - abs(Fraction(value))), pattern & 1))
    return np.copysign(np.array(best, np.uint16).view(kind).astype(np.float64), value).astype(kind)


def _expected(x: Array, source: str, destination: str) -> Array:
    if destination == "bool":
        return x.astype(np.float64) != 0 if source in FLOATING else x != 0
    if source in FLOATING and destination in INTEGERS:
        return _to_integer(x, destination)
    if source == "float64" and destination in ("float16", "bfloat16"):
        return np.array([_nearest_half(float(value), destination) for value in x], dtype_of(destination))
    if destination in ("float16", "bfloat16"):
        return x.astype(np.float32).astype(dtype_of(destination))
    return x.astype(dtype_of(destination))


@pytest.mark.parametrize("source,destination", list(itertools.product(SUFFIXES, SUFFIXES)))
def test_cast(source: str, destination: str) -> None:
    x = samples(source)
    cast = Loop(f"cast_{SUFFIXES[source]}_{SUFFIXES[destination]}(x0)", (source,), destination)
    assert_same(cast(x), _expected(x, source, destination))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_float_survives_a_round_trip(dtype: str) -> None:
    x = np.arange(65536, dtype=np.uint16).view(dtype_of(dtype))
    suffix = SUFFIXES[dtype]
    widened = Loop(f"cast_{suffix}_f32(x0)", (dtype,), "float32")(x)
    assert_same(widened, x.astype(np.float32))
    assert_same(Loop(f"cast_f32_{suffix}(x0)", ("float32",), dtype)(widened), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_stores_round_to_nearest_even(dtype: str) -> None:
    every = np.arange(65536, dtype=np.uint32) << 16
    near = np.concatenate([every | low for low in (0, 1, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    ties = (halves[:-1] + halves[1:]) / 2
    x = np.concatenate([near.view(np.float32), ties, -ties])
    stored = Loop("x0", ("float32",), dtype)(x)
    assert_same(stored, x.astype(dtype_of(dtype)))
    rounded = Loop(f"round_{SUFFIXES[dtype]}(x0)", ("float32",), "float32")(x)
    assert_same(rounded, x.astype(dtype_of(dtype)).astype(np.float32))


def test_bfloat16_is_the_one_of_ml_dtypes() -> None:
    assert dtype_of("bfloat16") == np.dtype(ml_dtypes.bfloat16)
