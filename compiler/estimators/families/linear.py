"""Linear regressors and classifiers of sklearn.linear_model and sklearn.svm."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .scores import add_log, class_of, two_columns

family(Kind.LINEAR_REGRESSOR, "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV")
family(Kind.LINEAR_REGRESSOR, "LinearSVR", "SGDRegressor", "HuberRegressor", "BayesianRidge", "Lars", "LassoLars")
family(
    Kind.LINEAR_CLASSIFIER, "LogisticRegression", "LogisticRegressionCV", "LinearSVC", "RidgeClassifier", "Perceptron"
)


def scores(e: Emitter, x: Frame, weights: Any, intercept: Any) -> Value:
    """``x @ weights.T + intercept`` [rows, targets] for weights [targets, features]."""
    held = np.atleast_2d(np.asarray(weights, float))
    y = e.times(x.value, held)
    added = np.atleast_1d(np.asarray(intercept, float))
    return e.emit("add", y, added) if added.any() else y


@translator(
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "Lasso",
    "LassoCV",
    "ElasticNet",
    "ElasticNetCV",
    "LinearSVR",
    "SGDRegressor",
    "HuberRegressor",
    "BayesianRidge",
    "Lars",
    "LassoLars",
)
def linear_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    coefficients = np.asarray(estimator.coef_)
    y = scores(e, x, coefficients, estimator.intercept_)
    return Results({"predict": e.flat(y) if coefficients.ndim == 1 else _as_fitted(e, estimator, y)})


def _as_fitted(e: Emitter, estimator: Any, y: Value) -> Value:
    """Predictions of a target that was given as a matrix are a matrix, whatever its width."""
    return y if np.ndim(estimator.coef_) == 2 or np.ndim(estimator.intercept_) == 1 else e.flat(y)


def _decision(e: Emitter, estimator: Any, x: Frame) -> Value:
    """[rows] for two classes, else [rows, classes]."""
    y = scores(e, x, estimator.coef_, estimator.intercept_)
    return e.flat(y) if int(y.shape[1]) == 1 else y


@translator("LogisticRegression", "LogisticRegressionCV")
def logistic_regression(e: Emitter, estimator: Any, x: Frame) -> Results:
    if getattr(estimator, "multi_class", "deprecated") == "ovr" or (
        estimator.solver == "liblinear" and len(estimator.classes_) > 2
    ):
        raise e.unsupported("one-vs-rest fits of more than two classes cannot be translated")
    decision = _decision(e, estimator, x)
    if len(decision.shape) == 1:
        probability = two_columns(e, e.emit("sigmoid", decision))
    else:
        probability = e.emit("softmax", decision, axis=1)
    values = {"predict": class_of(e, decision), "decision_function": decision, "predict_proba": probability}
    return Results(add_log(e, values), classes=estimator.classes_)


@translator("LinearSVC", "RidgeClassifier", "Perceptron")
def linear_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    binarizer = getattr(estimator, "_label_binarizer", None)
    if binarizer is not None and binarizer.y_type_.startswith("multilabel"):
        raise e.unsupported("it predicts several labels a row; expected one class")
    decision = _decision(e, estimator, x)
    return Results({"predict": class_of(e, decision), "decision_function": decision}, classes=estimator.classes_)
