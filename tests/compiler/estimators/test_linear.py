"""Linear models against scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from estimator_checks import check, dataset

import basalt

pytest.importorskip("sklearn")

from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lars,
    Lasso,
    LassoCV,
    LassoLars,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDRegressor,
)
from sklearn.svm import SVC, LinearSVC, LinearSVR, NuSVC, NuSVR

REGRESSORS = [
    LinearRegression(),
    Ridge(),
    RidgeCV(),
    Lasso(),
    LassoCV(alphas=[0.01, 0.1]),
    ElasticNet(0.01),
    ElasticNetCV(alphas=[0.01, 0.1]),
    LinearSVR(random_state=0),
    SGDRegressor(random_state=0),
    HuberRegressor(),
    BayesianRidge(),
    Lars(),
    LassoLars(),
    NuSVR(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("regressor", REGRESSORS, ids=lambda r: type(r).__name__)
def test_regresses(regressor: Any) -> None:
    rows, targets = dataset("diabetes")
    check(regressor.fit(rows, targets), rows)


@pytest.mark.parametrize("regressor", [LinearRegression(), Lasso()], ids=["linear", "lasso"])
def test_regresses_several_targets(regressor: Any) -> None:
    rows, targets = dataset("diabetes")
    check(regressor.fit(rows, np.stack([targets, -2 * targets], axis=1)), rows)


def test_regresses_a_target_that_is_a_column() -> None:
    rows, targets = dataset("diabetes")
    for regressor in (LinearRegression(), Ridge(), Lasso()):
        check(regressor.fit(rows, targets[:, None]), rows)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_classifies_several_classes(name: str) -> None:
    rows, targets = dataset(name)
    rows = rows / rows.max(axis=0)
    check(LogisticRegression().fit(rows, targets), rows)
    check(LinearSVC(random_state=0).fit(rows, targets), rows)


def test_classifies_two_classes() -> None:
    rows, targets = dataset("breast_cancer")
    rows = rows / rows.max(axis=0)
    check(LogisticRegression().fit(rows, targets), rows)
    check(LogisticRegression(solver="liblinear", fit_intercept=False).fit(rows, targets), rows)
    check(LinearSVC(random_state=0).fit(rows, targets), rows)


@pytest.mark.parametrize("labels", [["x", "yes", "zz"], [2.0, -1.0, 7.0], [True, False, True], [10, 20, 30]])
def test_gives_labels_of_any_type(labels: list[Any]) -> None:
    rows, targets = dataset("iris")
    named = np.array(labels)[targets]
    estimator = check(LogisticRegression(max_iter=500).fit(rows, named), rows[:9])
    assert np.array_equal(estimator.classes_, np.unique(named))
    assert estimator.predict(rows[:1]).dtype == named.dtype


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_classifies_by_support_vectors(name: str, kernel: str) -> None:
    rows, targets = dataset(name)
    rows = rows[:60, :4] / rows[:, :4].max(axis=0)
    check(SVC(kernel=kernel, coef0=0.5).fit(rows, targets[:60]), rows)


@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(),
        Perceptron(random_state=0),
        LogisticRegressionCV(Cs=2, cv=2, use_legacy_attributes=False),
        NuSVC(nu=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_other_classifiers(model: Any, name: str) -> None:
    rows, targets = dataset(name)
    check(model.fit(rows / rows.max(axis=0), targets), rows / rows.max(axis=0))


def test_fits_of_one_class_against_the_rest() -> None:
    """Releases before 1.8 fitted so on request; the probabilities are those of each class, scaled to add up to 1."""
    rows, targets = dataset("iris")
    each = [LogisticRegression(solver="liblinear").fit(rows, targets == k) for k in range(3)]
    fitted = LogisticRegression().fit(rows, targets)
    fitted.coef_, fitted.intercept_ = (
        np.concatenate([m.coef_ for m in each]),
        np.concatenate([m.intercept_ for m in each]),
    )
    fitted.multi_class = "ovr"
    shares = np.stack([m.predict_proba(rows)[:, 1] for m in each], axis=1)
    found = basalt.from_sklearn(fitted).predict_proba(rows)
    np.testing.assert_allclose(found, shares / shares.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("model", [RidgeClassifier(), RidgeClassifierCV()], ids=lambda m: type(m).__name__)
def test_several_labels_a_row(model: Any) -> None:
    rows, targets = dataset("iris")
    check(model.fit(rows, np.stack([targets > 0, targets > 1], axis=1).astype(int)), rows)
