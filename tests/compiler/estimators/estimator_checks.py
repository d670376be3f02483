"""Compares translated estimators with scikit-learn's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import basalt

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "decision_function",
    "transform",
    "score_samples",
    "kneighbors",
)
"""Methods that every translated estimator has exactly where scikit-learn's has them."""


@functools.cache
def dataset(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and targets of a data set that scikit-learn ships; few rows and columns, so that fitting is fast."""
    import sklearn.datasets

    rows, targets = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))[:150]
    return np.ascontiguousarray(rows[order, :16]), targets[order]


def check(fitted: Any, rows: Any, tolerance: float = 1e-9, **options: Any) -> basalt.Estimator:
    """Require the same methods, and the same results within ``tolerance`` of their size."""
    estimator = basalt.from_sklearn(fitted, **options)
    own = {name for name in METHODS if hasattr(fitted, name)}
    assert own == set(estimator.methods) - {"inverse_transform"}
    for name in own:
        with np.errstate(divide="ignore"):
            expected = getattr(fitted, name)(rows)
        compare(expected, getattr(estimator, name)(rows), tolerance, name)
    if "inverse_transform" in estimator.methods:
        given = fitted.transform(rows)
        compare(fitted.inverse_transform(given), estimator.inverse_transform(given), tolerance, "inverse_transform")
    return estimator


def compare(expected: Any, found: Any, tolerance: float, name: str) -> None:
    """Require equal data types, shapes and values, numbers within a tolerance."""
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected)
        for e, f in zip(expected, found, strict=True):
            compare(e, f, tolerance, name)
        return
    expected = expected.toarray() if hasattr(expected, "toarray") else np.asarray(expected)
    if expected.dtype.kind != "U" or found.dtype.kind != "U":
        assert found.dtype == expected.dtype, name
    assert found.shape == expected.shape, name
    if expected.dtype.kind != "f":
        assert np.array_equal(found, expected), name
        return
    size = max(1.0, float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * size, err_msg=name)
