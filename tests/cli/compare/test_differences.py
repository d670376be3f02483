"""How arrays differ, against what NumPy says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from basalt.cli.compare.differences import Difference, Limits, difference

THOUSANDTH = Limits(1e-3)
FLOATS = st.sampled_from([np.float16, np.float32, np.float64])


@given(st.data(), FLOATS)
def test_against_numpy(data: st.DataObject, dtype: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, max_side=4))
    elements = st.floats(-100, 100, width=16) | st.sampled_from([np.nan, np.inf, -np.inf])
    a, b = (data.draw(hnp.arrays(dtype, shape, elements=elements)) for _ in range(2))
    found = difference(a, b, THOUSANDTH)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    assert found.unequal == np.count_nonzero(~same)
    finite = b[np.isfinite(b)].astype(np.float64)
    scale = max(np.abs(finite).max(initial=0), 1e-6)
    close = np.isclose(a.astype(np.float64), b.astype(np.float64), rtol=0, atol=1e-3 * scale, equal_nan=True)
    assert found.beyond == np.count_nonzero(~close)
    assert found.agrees == close.all()
    assert (found.verdict == "equal") == bool(same.all())
    assert found.first == (None if close.all() else tuple(np.argwhere(~close)[0]))
    assert found.nan == np.count_nonzero(np.isnan(a) != np.isnan(b))
    both = np.isfinite(a) & np.isfinite(b)
    assert (found.largest is None) == (not both.any())
    if found.largest is not None:
        assert found.largest == np.abs(a[both].astype(np.float64) - b[both].astype(np.float64)).max()


@given(st.integers(-200, 200), st.integers(-200, 200), FLOATS)
def test_units_in_the_last_place_are_steps_of_nextafter(start: int, steps: int, dtype: Any) -> None:
    a = dtype(start) * np.finfo(dtype).smallest_subnormal
    b = a
    for _ in range(abs(steps)):
        b = np.nextafter(b, dtype(np.inf if steps > 0 else -np.inf))
    assert difference(np.array([a]), np.array([b]), THOUSANDTH).ulps == abs(steps)


def test_units_of_the_largest_numbers_and_of_both_zeros() -> None:
    most = np.finfo(np.float64).max
    found = difference(np.array([most]), np.array([-most]), THOUSANDTH)
    assert found.ulps == 2 * int(np.float64(most).view(np.uint64))
    assert difference(np.array([0.0]), np.array([-0.0]), THOUSANDTH) == Difference(
        ("float64", "float64"), ((1,), (1,)), 0.0, 0.0, 0
    )
    bfloat = np.array([1.0, 1.0078125], ml_dtypes.bfloat16)
    assert difference(bfloat[:1], bfloat[1:], THOUSANDTH).ulps == 1


def test_integers_must_be_equal_unless_a_tolerance_is_given_for_them() -> None:
    a, b = np.array([1000, 5], np.int64), np.array([1001, 5], np.int64)
    assert difference(a, b, THOUSANDTH).verdict == "differs"
    assert difference(a, b, Limits(1e-3, atol=1.0)).verdict == "close"
    assert difference(a, b, Limits(1e-3, rtol=1e-3)).verdict == "close"
    large = np.array([2**62 + 1]), np.array([2**62])
    assert difference(*large, THOUSANDTH).beyond == 1
    four = np.array([7, -8], ml_dtypes.int4)
    assert difference(four, four, THOUSANDTH).verdict == "equal"
    assert difference(four, four[::-1], THOUSANDTH).largest == 15


def test_absolute_and_relative_tolerances_are_of_elements() -> None:
    b = np.array([1.0, 100.0])
    a = b + 0.05
    assert difference(a, b, Limits(1e-3)).agrees, "0.05 is less than 0.1 % of 100"
    assert difference(a, b, Limits(1e-3, rtol=1e-3)).beyond == 1
    assert difference(a, b, Limits(1e-3, rtol=1e-3, atol=0.05)).agrees
    assert not difference(a, b, Limits(1e-3, rtol=0.0, atol=0.0)).agrees


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), "shape"),
        (np.zeros(2, np.float32), np.zeros(2, np.int32), "data type"),
        (np.zeros(2, bool), np.zeros(2, np.uint8), "data type"),
        (np.zeros(2, np.float16), np.zeros(2, np.float32), "equal"),
        (np.array(["a", "b"]), np.array(["a", "b"], object), "equal"),
        (np.array(["a", "b"]), np.array(["a", "c"], object), "differs"),
        (np.array([True]), np.array([False]), "differs"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "equal"),
        (np.array([1 + 2j]), np.array([1 + 2j]), "equal"),
        (np.array([1 + 2j]), np.array([1 + 3j]), "differs"),
        ([np.zeros(2)], [np.zeros(2)], "equal"),
        ([np.zeros(2)], [np.ones(2)], "differs"),
        ([np.zeros(2)], [], "shape"),
        (None, None, "equal"),
        ({"a": np.zeros(1)}, {"b": np.zeros(1)}, "shape"),
    ],
)
def test_verdicts(left: Any, right: Any, verdict: str) -> None:
    assert difference(left, right, THOUSANDTH).verdict == verdict
