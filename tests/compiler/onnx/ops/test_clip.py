"""Clip at every version: limits that are attributes, inputs, left out, infinite, the wrong way round, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.errors import ValidationError

from .one_node import allowed, close, run, sample, versions

X = np.array([np.nan, np.inf, -np.inf, 1e39, -7, 0.5, 7])
LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("version", [1, 6])
@pytest.mark.parametrize("compiled", [False, True])
def test_limits_as_attributes(version: int, compiled: bool) -> None:
    """Version 1 does not limit by default; version 6 has the extreme numbers of float32 as defaults."""
    ends = {1: np.inf, 6: LARGEST}[version]
    for dtype in allowed("Clip", version):
        with np.errstate(over="ignore"):
            x = X.astype(dtype)
        limits: list[dict[str, float]] = [{}, {"min": -1.0}, {"max": 1.0}, {"min": -1.0, "max": 1.0}]
        for given in limits:
            low, high = given.get("min", -ends), given.get("max", ends)
            with np.errstate(over="ignore"):
                expected = np.clip(x.astype(np.float64), low, high).astype(dtype)
            close(run("Clip", version, x, compiled=compiled, **given), expected, dtype)


@pytest.mark.parametrize("version", [11, 12, 13])
@pytest.mark.parametrize("known", [True, False])
def test_limits_as_inputs(version: int, known: bool) -> None:
    assert versions("Clip") == [1, 6, 11, 12, 13]
    for dtype in allowed("Clip", version):
        x = sample(dtype, low=-9, high=9)
        wide = x.astype(np.float64)
        low, high = np.array(1).astype(x.dtype), np.array(3).astype(x.dtype)
        for limits in ((low, high), (low, None), (None, high), (None, None), (low.reshape(1), high)):
            bounds = [None if b is None else b.astype(np.float64) for b in limits]
            expected = np.clip(wide, *bounds) if any(b is not None for b in bounds) else wide
            places = tuple(i + 1 for i, b in enumerate(limits) if b is not None) if known else ()
            found = run("Clip", version, x, *limits, known=places, compiled=dtype in ("float32", "int8"))
            close(found, expected, dtype)


@pytest.mark.parametrize("known", [(), (1, 2), (1,)])
@pytest.mark.parametrize("compiled", [False, True])
def test_odd_limits(known: tuple[int, ...], compiled: bool) -> None:
    def clipped(x: Any, low: float, high: float) -> list[float]:
        limits = [np.array(v, np.float32) for v in (low, high)]
        return [float(v) for v in run("Clip", 13, np.array(x, np.float32), *limits, known=known, compiled=compiled)]

    nan = pytest.approx(float("nan"), nan_ok=True)
    assert clipped([-9, 0, 9], 2, -2) == [-2, -2, -2]
    assert clipped([np.nan, np.inf, -np.inf], -1, 1) == [nan, 1, -1]
    assert clipped([1, 2], np.nan, 1) == [nan, nan]
    assert clipped([-1, 1], 0, np.inf) == [0, 1]


def test_large_integer_limits_are_exact() -> None:
    x = np.array([2**62 + 1, -(2**62) - 3], np.int64)
    limits = (np.array(-(2**62) - 1), np.array(2**62))
    for known in ((), (1, 2)):
        assert run("Clip", 12, x, *limits, known=known).tolist() == [2**62, -(2**62) - 1]
    top = np.array([2**64 - 1, 5], np.uint64)
    found = run("Clip", 12, top, np.array(6, np.uint64), np.array(2**64 - 2, np.uint64), known=(1, 2))
    assert found.tolist() == [2**64 - 2, 6]


def test_a_limit_is_one_number() -> None:
    with pytest.raises(ValidationError, match="input min is float32"):
        run("Clip", 13, sample("float32"), np.zeros(2, np.float32))
