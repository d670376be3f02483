"""Special functions that NumPy lacks, in float64: the error function and its complement."""

from __future__ import annotations

import math

import numpy as np

_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, element by element, in float64."""
    return np.asarray(_erf(np.asarray(x, np.float64)), np.float64)


def erfc(x: np.ndarray) -> np.ndarray:
    """The complementary error function ``1 - erf(x)`` without cancellation, in float64."""
    return np.asarray(_erfc(np.asarray(x, np.float64)), np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``; no intermediate overflows to a wrong result."""
    return 1.0 / (1.0 + np.exp(-x))


def softplus(x: np.ndarray) -> np.ndarray:
    """``log(1 + exp(x))`` without overflow for large ``x`` or cancellation for small."""
    return np.logaddexp(x, 0.0)


def gelu(x: np.ndarray) -> np.ndarray:
    """``x / 2 * (1 + erf(x / sqrt 2))``, through erfc so that the negative tail keeps its digits."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(x), -0.0, 0.5 * x * erfc(x * -math.sqrt(0.5)))
