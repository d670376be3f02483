"""KNeighborsClassifier, KNeighborsRegressor and NearestNeighbors of sklearn.neighbors, by distances to all samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .scores import class_of, several_targets

family(Kind.NEIGHBOURS, "KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors")


_POWERS = {"euclidean": 2, "l2": 2, "manhattan": 1, "cityblock": 1, "l1": 1, "chebyshev": np.inf, "sqeuclidean": 2}
_RATIOS = ("canberra", "braycurtis", "hamming")


def _distances(e: Emitter, estimator: Any, x: Frame) -> tuple[Value, float]:
    """A number for each sample that orders them as their distances do [rows, samples], and the power that makes it one.

    The metrics are those of ``sklearn.metrics.DistanceMetric``.
    """
    metric, given = estimator.effective_metric_, dict(estimator.effective_metric_params_ or {})
    samples = np.asarray(estimator._fit_X, float)
    if metric == "cosine":
        return _cosine(e, x, samples), 1.0
    # Samples side by side fill vectors, however few the features are.
    rows, columns = e.reshape(x.value, (e.rows, x.width, 1)), np.ascontiguousarray(samples.T)[None]
    differences = e.emit("sub", rows, e.constant(columns))
    if metric in _RATIOS:
        return _ratio(e, metric, rows, columns, differences), 1.0
    power, weights = _POWERS.get(metric), given.get("w")
    if metric == "minkowski":
        power = given.get("p", getattr(estimator, "p", 2))
    elif metric == "seuclidean" and "V" in given:
        power, weights = 2, 1 / np.asarray(given["V"], float)
    if power is None:
        expected = ", ".join((*_POWERS, "minkowski", "seuclidean", "cosine", *_RATIOS))
        raise e.unsupported(f"metric is {metric!r}, expected one of {expected}")
    root = 1.0 if power == np.inf or metric == "sqeuclidean" else 1 / float(power)
    return _minkowski(e, differences, float(power), weights), root


def _minkowski(e: Emitter, differences: Value, power: float, weights: Any) -> Value:
    """The sum of the powers of the differences, weighted if at all: [rows, samples]."""
    if weights is None and power == 2:
        return e.emit("reduce_sum_square", differences, axes=(1,), keep_dimensions=False)
    if weights is None and power == 1:
        return e.emit("reduce_l1", differences, axes=(1,), keep_dimensions=False)
    size = e.emit("abs", differences)
    if power == np.inf:
        return e.emit("reduce_max", size, axes=(1,), keep_dimensions=False)
    raised = size if power == 1 else e.emit("mul", size, size) if power == 2 else e.emit("pow", size, power)
    if weights is not None:
        raised = e.emit("mul", raised, e.constant(np.asarray(weights, float)[None, :, None]))
    return e.emit("reduce_sum", raised, axes=(1,), keep_dimensions=False)


def _cosine(e: Emitter, x: Frame, samples: np.ndarray) -> Value:
    """1 less the cosine of the angle; rows of zeros have no direction and are at a distance of 1."""
    norms = np.linalg.norm(samples, axis=1, keepdims=True)
    norm = e.emit("reduce_l2", x.value, axes=(1,), keep_dimensions=True)
    norm = e.choose(e.emit("equal", norm, 0.0), 1.0, norm)
    cosine = e.times(e.emit("div", x.value, norm), samples / np.where(norms == 0, 1, norms))
    return e.emit("clamp", e.emit("sub", e.number(1.0, cosine), cosine), min_value=0.0, max_value=2.0)


def _ratio(e: Emitter, metric: str, rows: Value, columns: np.ndarray, differences: Value) -> Value:
    """Distances that are quotients, [rows, samples]."""

    def summed(values: Value) -> Value:
        return e.emit("reduce_sum", values, axes=(1,), keep_dimensions=False)

    if metric == "hamming":
        differ = e.cast(e.emit("not_equal", differences, 0.0), e.dtype)
        return e.emit("reduce_mean", differ, axes=(1,), keep_dimensions=False)
    size = e.emit("abs", differences)
    total = e.emit("add", e.emit("abs", rows), e.constant(np.abs(columns)))
    if metric == "braycurtis":
        size, total = summed(size), summed(total)
    share = e.emit("div", size, e.choose(e.emit("equal", total, 0.0), 1.0, total))
    return share if metric == "braycurtis" else summed(share)


def _nearest(e: Emitter, estimator: Any, x: Frame) -> tuple[Value, Value]:
    """Distances and places of the nearest samples, nearest first: [rows, neighbours]."""
    found, root = _distances(e, estimator, x)
    values, places = e.emit_all("top_k", found, k=int(estimator.n_neighbors), axis=1, largest=False)
    if root == 1.0:
        return values, places
    return (e.emit("sqrt", values) if root == 0.5 else e.emit("pow", values, root)), places


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
    distances, places = _nearest(e, estimator, x)
    weights = _weights(e, estimator, distances)
    several = bool(estimator.outputs_2d_)
    targets = list(np.asarray(estimator._y).T) if several else [estimator._y]
    classes = list(estimator.classes_) if several else [estimator.classes_]
    shares = []
    for labels, each in zip(targets, classes):
        votes = e.emit("gather", e.constant(np.eye(len(each))[labels]), places, axis=0)
        shares.append(_averaged(e, weights, votes))
    if several:
        results = several_targets(e, shares, classes, log=False)
    else:
        values = {"predict": class_of(e, shares[0]), "predict_proba": shares[0]}
        results = Results(values, classes=estimator.classes_)
    results.values.update({"kneighbors.0": distances, "kneighbors.1": places})
    results.pairs += ("kneighbors",)
    return results


@translator("NearestNeighbors")
def nearest_neighbors(e: Emitter, estimator: Any, x: Frame) -> Results:
    distances, places = _nearest(e, estimator, x)
    return Results({"kneighbors.0": distances, "kneighbors.1": places}, pairs=("kneighbors",))


@translator("KNeighborsRegressor")
def k_neighbors_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    distances, places = _nearest(e, estimator, x)
    targets = np.asarray(estimator._y, float)
    is_vector = targets.ndim == 1
    found = e.emit("gather", e.constant(targets.reshape(len(targets), -1)), places, axis=0)
    y = _averaged(e, _weights(e, estimator, distances), found)
    values = {"predict": e.flat(y) if is_vector else y, "kneighbors.0": distances, "kneighbors.1": places}
    return Results(values, pairs=("kneighbors",))
