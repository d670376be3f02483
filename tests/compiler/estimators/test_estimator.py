"""The Estimator itself: rows in any form, what is refused, data types, names."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from estimator_checks import check, dataset

import basalt

pytest.importorskip("sklearn")

from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler


@pytest.fixture(scope="module")
def fitted() -> Any:
    rows, targets = dataset("iris")
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, targets)


@pytest.fixture(scope="module")
def estimator(fitted: Any) -> basalt.Estimator:
    return basalt.from_sklearn(fitted)


def test_rows_in_any_form(fitted: Any, estimator: basalt.Estimator) -> None:
    rows = dataset("iris")[0][:5]
    expected = fitted.predict_proba(rows)
    for form in (rows, rows.tolist(), np.asfortranarray(rows), rows[::-1][::-1], rows.astype(object)):
        np.testing.assert_allclose(estimator.predict_proba(form), expected, rtol=1e-12)
    single = rows.astype(np.float32)
    assert estimator.predict_proba(single).dtype == np.float64
    whole = np.round(rows).astype(np.int64)
    np.testing.assert_allclose(estimator.predict_proba(whole), fitted.predict_proba(whole), rtol=1e-12)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((2, 3)), "has 3 features, expected 4"),
        (np.zeros(4), r"shape \[4\], expected rows of 4 features; for one row give \[row\]"),
        (np.zeros((0, 4)), "has no rows"),
        ([[1, 2, 3, "x"]], "expected numbers"),
        ([[1, 2, 3, np.nan]], "NaN or infinity"),
        ([[1, 2, 3, -np.inf]], "NaN or infinity"),
    ],
)
def test_refuses_other_rows(estimator: basalt.Estimator, rows: Any, message: str) -> None:
    with pytest.raises(basalt.ValidationError, match=message):
        estimator.predict(rows)


def test_has_the_methods_of_the_estimator_alone(estimator: basalt.Estimator) -> None:
    assert set(estimator.methods) == {"predict", "predict_proba", "predict_log_proba", "decision_function"}
    with pytest.raises(AttributeError, match="Pipeline has no 'transform'"):
        estimator.transform([[0, 0, 0, 0]])
    with pytest.raises(basalt.ValidationError, match="has no transform; it has predict"):
        estimator.executable(["transform"])
    assert repr(estimator).startswith("<Estimator Pipeline of 4 features: predict")


def test_says_what_it_is(estimator: basalt.Estimator) -> None:
    assert (estimator.class_name, estimator.dtype, estimator.n_features_in_) == ("Pipeline", "float64", 4)
    assert [(s.name, s.dtype, s.shape) for s in estimator.inputs] == [("X", "float64", ("rows", 4))]
    assert {s.name: s.shape for s in estimator.outputs}["predict_proba"] == ("rows", 3)
    with pytest.raises(AttributeError):
        estimator.feature_names_in_  # noqa: B018


def test_runs_every_method_at_once(estimator: basalt.Estimator) -> None:
    rows = dataset("iris")[0][:7]
    found = estimator.run({"X": rows})
    assert found.keys() == set(estimator.methods)
    for name, values in found.items():
        np.testing.assert_allclose(values, getattr(estimator, name)(rows), rtol=1e-14)


def test_computes_in_float32_on_request(fitted: Any) -> None:
    rows = dataset("iris")[0]
    estimator = basalt.from_sklearn(fitted, dtype="float32")
    found = estimator.predict_proba(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, fitted.predict_proba(rows), atol=2e-6)
    assert np.array_equal(estimator.predict(rows), fitted.predict(rows))


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (LinearRegression(), {}, "LinearRegression is not fitted"),
        (LinearRegression, {}, "got LinearRegression, expected a fitted"),
        (7, {}, "got int, expected a fitted"),
        ("fitted", {"dtype": "float16"}, "dtype is 'float16', expected one of float64, float32"),
        ("fitted", {"n_features": 5}, "n_features is 5, but the estimator takes 4"),
        ("fitted", {"n_features": 0}, "n_features is 0, expected an integer of 1 or more"),
    ],
)
def test_refuses_other_estimators(fitted: Any, given: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(basalt.ValidationError, match=message):
        basalt.from_sklearn(fitted if given == "fitted" else given, **options)


def test_one_row_and_one_feature() -> None:
    rows = np.array([[1.0], [2.0], [4.0]])
    model = make_pipeline(PolynomialFeatures(2), LinearRegression()).fit(rows, [1.0, 3.0, 2.0])
    check(model, rows[:1])


def test_is_not_pickled(estimator: basalt.Estimator) -> None:
    with pytest.raises(basalt.UnsupportedError, match=r"basalt\.save"):
        pickle.dumps(estimator)
