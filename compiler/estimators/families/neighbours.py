"""KNeighborsClassifier and KNeighborsRegressor of sklearn.neighbors, by distances to all samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .scores import class_of

family(Kind.NEIGHBOURS, "KNeighborsClassifier", "KNeighborsRegressor")


def _distances(e: Emitter, estimator: Any, x: Frame) -> tuple[Value, str]:
    """A number for each sample that orders them as their distances do [rows, samples], and what makes it a distance."""
    metric, p = estimator.effective_metric_, getattr(estimator, "p", 2)
    samples = np.asarray(estimator._fit_X, float)
    if (estimator.effective_metric_params_ or {}).get("w") is not None:
        raise e.unsupported("weighted metrics cannot be translated")
    power = {"euclidean": 2, "l2": 2, "manhattan": 1, "cityblock": 1, "l1": 1, "chebyshev": np.inf}.get(metric)
    if metric == "minkowski":
        power = p
    if power not in (1, 2, np.inf):
        raise e.unsupported(f"metric is {metric!r} with p = {p}, expected euclidean, manhattan or chebyshev")
    rows = e.reshape(x.value, (e.rows, 1, x.width))
    differences = e.emit("sub", rows, e.constant(samples[None]))
    if power == 2:
        return e.emit("reduce_sum_square", differences, axes=(2,), keep_dimensions=False), "sqrt"
    if power == 1:
        return e.emit("reduce_l1", differences, axes=(2,), keep_dimensions=False), ""
    return e.emit("reduce_max", e.emit("abs", differences), axes=(2,), keep_dimensions=False), ""


def _nearest(e: Emitter, estimator: Any, x: Frame) -> tuple[Value, Value]:
    """Distances and places of the nearest samples, nearest first: [rows, neighbours]."""
    found, root = _distances(e, estimator, x)
    values, places = e.emit_all("top_k", found, k=int(estimator.n_neighbors), axis=1, largest=False)
    return (e.emit(root, values) if root else values), places


def _weights(e: Emitter, estimator: Any, distances: Value) -> Value | None:
    """The weights of neighbours; None for equal ones. Samples at distance 0, if there are any, alone count."""
    if estimator.weights in (None, "uniform"):
        return None
    if estimator.weights != "distance":
        raise e.unsupported(f"weights is {estimator.weights!r}: Python functions cannot be translated")
    zeros = e.cast(e.emit("equal", distances, 0.0), e.dtype)
    some = e.emit("reduce_max", zeros, axes=(1,), keep_dimensions=True)
    return e.choose(e.emit("greater", some, 0.5), zeros, e.emit("reciprocal", distances))


def _averaged(e: Emitter, weights: Value | None, values: Value) -> Value:
    """The weighted mean of values [rows, neighbours, targets] over the neighbours."""
    if weights is None:
        return e.emit("reduce_mean", values, axes=(1,), keep_dimensions=False)
    column = e.reshape(weights, (*weights.shape, 1))
    total = e.emit("reduce_sum", e.emit("mul", values, column), axes=(1,), keep_dimensions=False)
    return e.emit("div", total, e.sum_columns(weights, keep=True))


@translator("KNeighborsClassifier")
def k_neighbors_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Of classes with equal votes the first is chosen; of samples at equal distances, the first."""
    if estimator.outputs_2d_:
        raise e.unsupported("it predicts several targets; expected one")
    distances, places = _nearest(e, estimator, x)
    one_hot = np.eye(len(estimator.classes_))[estimator._y]
    votes = e.emit("gather", e.constant(one_hot), places, axis=0)
    probability = _averaged(e, _weights(e, estimator, distances), votes)
    values = {"predict": class_of(e, probability), "predict_proba": probability}
    values |= {"kneighbors.0": distances, "kneighbors.1": places}
    return Results(values, classes=estimator.classes_, pairs=("kneighbors",))


@translator("KNeighborsRegressor")
def k_neighbors_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    distances, places = _nearest(e, estimator, x)
    targets = np.asarray(estimator._y, float)
    is_vector = targets.ndim == 1
    found = e.emit("gather", e.constant(targets.reshape(len(targets), -1)), places, axis=0)
    y = _averaged(e, _weights(e, estimator, distances), found)
    values = {"predict": e.flat(y) if is_vector else y, "kneighbors.0": distances, "kneighbors.1": places}
    return Results(values, pairs=("kneighbors",))
