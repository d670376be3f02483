"""Linear regressors and classifiers of sklearn.linear_model and sklearn.svm."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .scores import add_log, class_of, shares_of, two_columns

family(Kind.LINEAR_REGRESSOR, "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV")
family(Kind.LINEAR_REGRESSOR, "LinearSVR", "SGDRegressor", "HuberRegressor", "BayesianRidge", "Lars", "LassoLars")
family(Kind.LINEAR_REGRESSOR, "ARDRegression", "LarsCV", "LassoLarsCV", "LassoLarsIC", "OrthogonalMatchingPursuit")
family(Kind.LINEAR_REGRESSOR, "OrthogonalMatchingPursuitCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV")
family(Kind.LINEAR_REGRESSOR, "MultiTaskLasso", "MultiTaskLassoCV", "PassiveAggressiveRegressor", "QuantileRegressor")
family(Kind.LINEAR_REGRESSOR, "TheilSenRegressor", "PoissonRegressor", "GammaRegressor", "TweedieRegressor")
family(Kind.LINEAR_CLASSIFIER, "RidgeClassifierCV", "PassiveAggressiveClassifier", "SGDClassifier")
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
    "ARDRegression",
    "LarsCV",
    "LassoLarsCV",
    "LassoLarsIC",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PassiveAggressiveRegressor",
    "QuantileRegressor",
    "TheilSenRegressor",
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


@translator("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
def generalized_linear_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    link = type(estimator._base_loss.link).__name__
    if link not in ("LogLink", "IdentityLink"):
        raise e.unsupported(f"its loss has a {link}, expected LogLink or IdentityLink")
    y = e.flat(scores(e, x, estimator.coef_, estimator.intercept_))
    return Results({"predict": e.emit("exp", y) if link == "LogLink" else y})


@translator("LogisticRegression", "LogisticRegressionCV")
def logistic_regression(e: Emitter, estimator: Any, x: Frame) -> Results:
    decision = _decision(e, estimator, x)
    each = getattr(estimator, "multi_class", "deprecated") == "ovr" or estimator.solver == "liblinear"
    return Results(add_log(e, _classified(e, decision, each)), classes=estimator.classes_)


def _classified(e: Emitter, decision: Value, each: bool) -> dict[str, Value]:
    """Classes and probabilities of decisions, by one sigmoid ``each``, scaled to add up to 1, or together."""
    if len(decision.shape) == 1:
        probability = two_columns(e, e.emit("sigmoid", decision))
    elif each:
        probability = e.emit("sigmoid", decision)
        probability = shares_of(e, probability)
    else:
        probability = e.emit("softmax", decision, axis=1)
    return {"predict": class_of(e, decision), "decision_function": decision, "predict_proba": probability}


@translator("LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron", "PassiveAggressiveClassifier")
def linear_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    binarizer = getattr(estimator, "_label_binarizer", None)
    decision = _decision(e, estimator, x)
    if binarizer is not None and binarizer.y_type_.startswith("multilabel"):
        labels = e.cast(e.emit("greater", decision, 0.0), "int64")
        return Results({"predict": labels, "decision_function": decision})
    return Results({"predict": class_of(e, decision), "decision_function": decision}, classes=estimator.classes_)


@translator("SGDClassifier")
def sgd_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    decision = _decision(e, estimator, x)
    if estimator.loss == "modified_huber":
        values = {"predict": class_of(e, decision), "decision_function": decision}
        values["predict_proba"] = _from_huber(e, decision)
        return Results(add_log(e, values), classes=estimator.classes_)
    return Results(add_log(e, _classified(e, decision, each=True)), classes=estimator.classes_)


def _from_huber(e: Emitter, decision: Value) -> Value:
    """Zadrozny and Elkan, "Transforming classifier scores into multiclass probability estimates" (2002).

    A row for which every class has a share of 0 has equal ones.
    """
    share = e.emit("clamp", decision, min_value=-1.0, max_value=1.0)
    share = e.emit("div", e.emit("add", share, 1.0), 2.0)
    if len(share.shape) == 1:
        return two_columns(e, share)
    return shares_of(e, share)
