"""Thresholds for rows that are compared in float32."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from basalt.compiler.estimators.families.flat_trees import float32_below, last_rounded_to


@given(st.floats(width=32, allow_nan=False))
def test_the_last_number_that_is_rounded_to_at_most_a_float32(limit: float) -> None:
    last = last_rounded_to(np.array([limit]))
    following = np.nextafter(last, np.inf)
    with np.errstate(over="ignore"):
        assert last.astype(np.float32)[0] <= limit
        assert following.astype(np.float32)[0] > limit or limit == np.inf


@given(st.floats(-1e38, 1e38))
def test_the_greatest_float32_that_is_not_above(threshold: float) -> None:
    below = float32_below(np.array([threshold]))
    assert float(below[0]) <= threshold < float(np.nextafter(below[0], np.float32(np.inf)))
