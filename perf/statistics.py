"""Medians, quantiles and bootstrap intervals of ratios, and the rule that calls a regression.

Samples are grouped by launch: timings from one process share its memory layout, so that rounds of one launch tell
nothing about the next. Intervals resample launches first where there are several, then rounds within each (a
hierarchical bootstrap: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8; Kalibera and
Jones, Rigorous benchmarking in reasonable time, ISMM 2013). Rounds are resampled in pairs: what slowed a round down
slowed all contenders in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

__all__ = ["Interval", "Launches", "Spread", "geometric_mean", "is_regression", "ratio", "spread"]

Launches: TypeAlias = Sequence[Sequence[float]]
"""Seconds of a call: one sequence a launch, one number a round."""

_RESAMPLES = 4000
_QUANTILES = (0.05, 0.25, 0.75, 0.95)


@dataclass(frozen=True)
class Spread:
    """The median of samples and the quantiles at 5, 25, 75 and 95 percent."""

    median: float
    quantiles: tuple[float, float, float, float]


@dataclass(frozen=True)
class Interval:
    """A ratio of medians, its bootstrap confidence interval, and the spread of the rounds' own ratios.

    ``best`` is the ratio of the lower deciles: nearer to the truth where other processes take much of the
    machine, which lengthens most rounds but not all.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    rounds: Spread
    best: float


def spread(samples: Launches) -> Spread:
    """The spread of all samples of all launches. Raises ValueError if there are none."""
    pooled = np.concatenate([np.asarray(launch, np.float64) for launch in samples]) if samples else np.empty(0)
    if not pooled.size:
        raise ValueError("no samples: expected at least one round")
    low, lower, upper, high = (float(v) for v in np.quantile(pooled, _QUANTILES))
    return Spread(float(np.median(pooled)), (low, lower, upper, high))


def ratio(numerator: Launches, denominator: Launches, confidence: float = 0.95, seed: int = 0) -> Interval:
    """The ratio of the medians of two contenders that took turns in the same rounds.

    Args:
        numerator, denominator: seconds by launch and round; equal lengths, positive numbers.
        confidence: of the interval, between 0 and 1.
        seed: of the resampling; equal samples give equal intervals.

    Raises:
        ValueError: for samples of different shapes, none at all, or a confidence out of range.
    """
    lengths = [len(launch) for launch in numerator], [len(launch) for launch in denominator]
    if lengths[0] != lengths[1] or not lengths[0] or min(lengths[0]) < 1:
        raise ValueError(f"rounds must come in pairs: {lengths[0]} of the one, {lengths[1]} of the other")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, expected a number between 0 and 1")
    above = [np.asarray(launch, np.float64) for launch in numerator]
    below = [np.asarray(launch, np.float64) for launch in denominator]
    rounds = [list(a / b) for a, b in zip(above, below, strict=True)]
    resampled = _resampled_ratios(above, below, np.random.default_rng(seed))
    tail = (1 - confidence) / 2
    low, high = (float(v) for v in np.quantile(resampled, (tail, 1 - tail)))
    value = spread(numerator).median / spread(denominator).median
    best = float(np.quantile(np.concatenate(above), 0.1) / np.quantile(np.concatenate(below), 0.1))
    return Interval(value, low, high, confidence, spread(rounds), best)


def _resampled_ratios(above: list[np.ndarray], below: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    launches, rounds = len(above), min(launch.size for launch in above)
    if launches == 1:
        at = rng.integers(rounds, size=(_RESAMPLES, rounds))
        return np.median(above[0][at], axis=1) / np.median(below[0][at], axis=1)
    ratios = np.empty(_RESAMPLES)
    for i in range(_RESAMPLES):
        chosen = rng.integers(launches, size=launches)
        places = [rng.integers(above[k].size, size=above[k].size) for k in chosen]
        top = np.concatenate([above[k][at] for k, at in zip(chosen, places, strict=True)])
        bottom = np.concatenate([below[k][at] for k, at in zip(chosen, places, strict=True)])
        ratios[i] = np.median(top) / np.median(bottom)
    return ratios


def is_regression(interval: Interval, margin: float) -> bool:
    """Whether new time / old time says that the new one is slower: the whole interval lies above 1 + margin."""
    return interval.low > 1 + margin


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean of positive ratios; NaN of none."""
    return float(np.exp(np.mean(np.log(ratios)))) if len(ratios) else float("nan")
