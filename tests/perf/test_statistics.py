"""Medians, intervals and the rule of regressions, on data whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf.statistics import geometric_mean, is_regression, ratio, spread


def noisy(median: float, rng: np.random.Generator, rounds: int = 25, noise: float = 0.05) -> list[float]:
    return list(median * np.exp(noise * rng.standard_normal(rounds)))


def test_spread_of_known_numbers() -> None:
    found = spread([[1.0, 2.0, 3.0], [4.0, 5.0]])
    assert found.median == 3.0
    assert found.quantiles == pytest.approx((1.2, 2.0, 4.0, 4.8))


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        spread([[]])
    with pytest.raises(ValueError, match="in pairs"):
        ratio([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ValueError, match="in pairs"):
        ratio([], [])
    with pytest.raises(ValueError, match="confidence is 1"):
        ratio([[1.0]], [[1.0]], confidence=1)


def test_equal_samples_give_exactly_one() -> None:
    found = ratio([[1.0, 3.0, 2.0]], [[1.0, 3.0, 2.0]])
    assert (found.ratio, found.low, found.high, found.best) == (1.0, 1.0, 1.0, 1.0)
    assert found.rounds.quantiles == (1.0, 1.0, 1.0, 1.0)


def test_a_ratio_of_two_lies_in_its_interval() -> None:
    rng = np.random.default_rng(1)
    found = ratio([noisy(2.0, rng)], [noisy(1.0, rng)])
    assert found.low < found.ratio < found.high
    assert found.low < 2.0 < found.high
    assert found.high - found.low < 0.3


def test_what_slows_a_round_down_for_both_cancels_out() -> None:
    rng = np.random.default_rng(2)
    drift = np.exp(rng.standard_normal(25))
    found = ratio([list(2 * drift)], [list(drift)])
    assert found.ratio == found.low == found.high == pytest.approx(2.0)
    assert found.rounds.quantiles == pytest.approx((2.0,) * 4)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        found = ratio([noisy(1.5, rng)], [noisy(1.0, rng)], confidence=0.9)
        held += found.low <= 1.5 <= found.high
    # 180 are expected; a binomial count has a standard deviation of 4.2, the bootstrap of a median is a little wide.
    assert 165 <= held <= 199


def test_more_confidence_is_a_wider_interval() -> None:
    rng = np.random.default_rng(4)
    above, below = [noisy(1.0, rng)], [noisy(1.0, rng)]
    narrow, wide = ratio(above, below, 0.8), ratio(above, below, 0.999)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_launches_that_disagree_widen_the_interval() -> None:
    rng = np.random.default_rng(5)
    base = [noisy(1.0, rng, noise=0.005) for _ in range(3)]
    agreeing = [noisy(1.1, rng, noise=0.005) for _ in range(3)]
    disagreeing = [noisy(m, rng, noise=0.005) for m in (0.95, 1.1, 1.25)]
    assert is_regression(ratio(agreeing, base), 0.02)
    found = ratio(disagreeing, base)
    assert found.high - found.low > 0.2
    assert not is_regression(found, 0.02)


def test_a_regression_needs_the_whole_interval_beyond_the_margin() -> None:
    rng = np.random.default_rng(6)
    base = [noisy(1.0, rng, noise=0.01)]
    slower = ratio([noisy(1.1, rng, noise=0.01)], base)
    assert is_regression(slower, 0.02)
    assert not is_regression(slower, 0.2)
    assert not is_regression(ratio([noisy(0.9, rng, noise=0.01)], base), 0.02)
    unsure = ratio([noisy(1.1, rng, noise=0.5, rounds=5)], [noisy(1.0, rng, noise=0.5, rounds=5)])
    assert not is_regression(unsure, 0.02)


def test_lower_deciles_pass_over_interruptions() -> None:
    below = [1.0] * 30
    above = [1.2] * 10 + [5.0] * 20
    found = ratio([above], [below])
    assert found.ratio == 5.0
    assert found.best == pytest.approx(1.2)


@given(st.lists(st.tuples(st.floats(1e-6, 1e3), st.floats(1e-6, 1e3)), min_size=1, max_size=12), st.floats(1e-3, 1e3))
def test_a_scale_of_all_times_changes_nothing(pairs: list[tuple[float, float]], factor: float) -> None:
    above, below = [a for a, _ in pairs], [b for _, b in pairs]
    plain = ratio([above], [below])
    scaled = ratio([[factor * a for a in above]], [[factor * b for b in below]])
    assert scaled.low == pytest.approx(plain.low)
    assert scaled.high == pytest.approx(plain.high)
    assert plain.low <= plain.high


def test_geometric_mean() -> None:
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert math.isnan(geometric_mean([]))
