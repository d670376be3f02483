"""Scaling that goes into the weights of products, where it costs no digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import basalt

pytest.importorskip("sklearn")

from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler


def columns(mean: float, spread: float, count: int = 40) -> np.ndarray:
    return mean + spread * np.random.default_rng(3).standard_normal((count, 5))


def operators(estimator: basalt.Estimator, method: str) -> list[str]:
    """The operators of the graph that is compiled for a method."""
    return [node.op for node in estimator.executable([method]).graph.nodes]


def compare(model: Any, rows: np.ndarray, dtype: str, tolerance: float) -> basalt.Estimator:
    estimator = basalt.from_sklearn(model, dtype=dtype)
    np.testing.assert_allclose(estimator.predict(rows), model.predict(rows), rtol=tolerance, atol=tolerance)
    return estimator


@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_mean=False), MinMaxScaler((-1, 1))])
def test_scaling_goes_into_the_weights(scaler: Any) -> None:
    rows = columns(3.0, 2.0)
    model = make_pipeline(scaler, LinearRegression()).fit(rows, rows @ np.arange(5.0) + 1)
    estimator = compare(model, rows, "float64", 1e-12)
    assert not {"div", "mul", "sub"} & set(operators(estimator, "predict"))
    assert {"div", "mul"} & {node.op for node in estimator.graph.nodes}


def test_columns_far_from_zero_are_moved_first() -> None:
    rows = columns(1e6, 1e-2)
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(rows, (rows - 1e6) @ np.arange(5.0))
    estimator = compare(model, rows, "float64", 1e-8)
    found = operators(estimator, "predict")
    assert "sub" in found and "div" not in found


def test_float32_keeps_its_digits() -> None:
    rows = columns(50.0, 1.0)
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(rows, (rows - 50) @ np.arange(5.0))
    estimator = compare(model, rows.astype(np.float32), "float32", 2e-4)
    assert "sub" in operators(estimator, "predict")


def test_scaled_rows_that_leave_stay() -> None:
    rows = columns(1.0, 2.0)
    model = make_pipeline(StandardScaler(), PCA(2)).fit(rows)
    estimator = basalt.from_sklearn(model)
    np.testing.assert_allclose(estimator.transform(rows), model.transform(rows), atol=1e-12)
    scaler = StandardScaler().fit(rows)
    assert np.array_equal(basalt.from_sklearn(scaler).transform(rows), scaler.transform(rows))


def test_scales_that_would_overflow_stay() -> None:
    rows = columns(0.0, 1e-200)
    rows[:, 0] = 1.0
    scaler = StandardScaler(with_mean=False).fit(rows)
    scaler.scale_ = np.full(5, 1e-200)
    model = make_pipeline(scaler, LinearRegression().fit(rows / 1e-200, np.arange(40.0)))
    model.steps[1][1].coef_ = np.full(5, 1e150)
    estimator = basalt.from_sklearn(model)
    assert "div" in operators(estimator, "predict")


@given(mean=st.floats(-300, 300), spread=st.floats(0.05, 50), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_probabilities_are_those_of_the_pipeline(mean: float, spread: float, seed: int) -> None:
    rows = columns(mean, spread)
    targets = np.random.default_rng(seed).integers(0, 3, len(rows))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=20)).fit(rows, targets)
    found = basalt.from_sklearn(model).predict_proba(rows)
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-11)
