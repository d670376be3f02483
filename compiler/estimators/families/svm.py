"""Support vector machines with kernels (libsvm's) of sklearn.svm."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..finishes import PAIRS
from ..registry import Frame, Results, family, translator
from .scores import class_of

family(Kind.KERNEL_MACHINE, "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


def _kernel(e: Emitter, estimator: Any, x: Frame) -> Value:
    """The kernel of each row with each support vector: [rows, vectors]."""
    kind = estimator.kernel
    if kind not in ("linear", "poly", "rbf", "sigmoid"):
        raise e.unsupported(f"kernel is {kind!r}, expected 'linear', 'poly', 'rbf' or 'sigmoid'")
    vectors = np.asarray(estimator.support_vectors_)
    gamma, offset = float(estimator._gamma), float(estimator.coef0)
    if kind == "rbf":
        return _gaussian(e, x.value, vectors, gamma)
    products = e.times(x.value, vectors)
    if kind == "linear":
        return products
    scaled = e.emit("add", e.emit("mul", products, gamma), offset)
    return _power(e, scaled, int(estimator.degree)) if kind == "poly" else e.emit("tanh", scaled)


def _gaussian(e: Emitter, x: Value, vectors: np.ndarray, gamma: float) -> Value:
    """By |x|^2 + |v|^2 - 2 x v about the mean of the vectors.

    There its rounding is relative to the vectors' spread, by which useful values of gamma are scaled; for a row far
    away it is relative to the distance, and the kernel vanishes.
    """
    centre = vectors.mean(axis=0)
    moved = vectors - centre
    rows = e.emit("sub", x, centre)
    squares = e.emit("reduce_sum_square", rows, axes=(1,), keep_dimensions=True)
    products = e.emit("add", e.times(rows, -2.0 * moved), np.einsum("ij,ij->i", moved, moved))
    distance = e.emit("relu", e.emit("add", products, squares))
    return e.emit("exp", e.emit("mul", distance, -gamma))


def _power(e: Emitter, base: Value, degree: int) -> Value:
    if degree == 0:
        return e.emit("pow", base, 0.0)
    result, squared = None, base
    while degree:
        if degree % 2:
            result = squared if result is None else e.emit("mul", result, squared)
        degree //= 2
        squared = e.emit("mul", squared, squared) if degree else squared
    assert result is not None
    return result


def _pair_weights(estimator: Any) -> np.ndarray:
    """The weight of each support vector in the decision of each pair of classes i < j: [pairs, vectors]."""
    coefficients = np.asarray(estimator._dual_coef_)
    per_class = np.asarray(estimator._n_support)
    ends = np.cumsum(per_class)
    spans = [slice(int(end - size), int(end)) for size, end in zip(per_class, ends)]
    rows = []
    for i in range(len(per_class)):
        for j in range(i + 1, len(per_class)):
            row = np.zeros(coefficients.shape[1])
            row[spans[i]] = coefficients[j - 1, spans[i]]
            row[spans[j]] = coefficients[i, spans[j]]
            rows.append(row)
    return np.stack(rows)


def _votes(e: Emitter, pairs: Value, classes: int) -> tuple[Value, Value]:
    """How many pairs each class wins, and the sum of its decisions: [rows, classes] both."""
    first, second = np.triu_indices(classes, 1)
    table = np.zeros((classes, len(first)))
    table[first, np.arange(len(first))] = 1
    table[second, np.arange(len(first))] = -1
    won = e.times(e.cast(e.emit("greater", pairs, 0.0), e.dtype), table)
    lost = np.bincount(second, minlength=classes).astype(float)
    return e.emit("add", won, lost), e.times(pairs, table)


@translator("SVC", "NuSVC")
def svc(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Each pair of classes votes; one with a positive decision for the first of the two."""
    classes = len(estimator.classes_)
    pairs = e.emit(
        "add", e.times(_kernel(e, estimator, x), _pair_weights(estimator)), np.asarray(estimator._intercept_)
    )
    if classes == 2:
        decision = e.emit("neg", e.flat(pairs))
        chosen = _second(e, decision)
    else:
        votes, sums = _votes(e, pairs, classes)
        decision = pairs
        if estimator.decision_function_shape == "ovr":
            decision = _one_versus_rest(e, votes, sums)
        chosen = class_of(e, decision if estimator.break_ties and decision is not pairs else votes)
    results = Results({"predict": chosen, "decision_function": decision}, classes=estimator.classes_)
    if len(estimator._probA):
        results.values[PAIRS] = _pair_probabilities(e, estimator, pairs)
        results.finishes = {"predict_proba": (PAIRS, "coupling"), "predict_log_proba": (PAIRS, "log_coupling")}
    return results


def _pair_probabilities(e: Emitter, estimator: Any, pairs: Value) -> Value:
    """The probability of the first class of each pair by Platt's sigmoid, [rows, pairs]."""
    slope, offset = np.asarray(estimator._probA, float), np.asarray(estimator._probB, float)
    probability = e.emit("sigmoid", e.emit("sub", e.emit("mul", pairs, -slope), offset))
    return e.emit("clamp", probability, min_value=1e-7, max_value=1 - 1e-7)


def _second(e: Emitter, decision: Value) -> Value:
    """A decision of 0 is the second class's, for it is no vote for the first."""
    return e.cast(e.emit("greater_or_equal", decision, 0.0), "int64")


def _one_versus_rest(e: Emitter, votes: Value, sums: Value) -> Value:
    """Votes, with ties broken by the decisions, squeezed into (-1/3, 1/3)."""
    size = e.emit("mul", e.emit("add", e.emit("abs", sums), 1.0), 3.0)
    return e.emit("add", votes, e.emit("div", sums, size))


@translator("SVR", "NuSVR", "OneClassSVM")
def svr(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = e.times(_kernel(e, estimator, x), np.asarray(estimator._dual_coef_))
    y = e.flat(e.emit("add", y, np.asarray(estimator._intercept_)))
    if type(estimator).__name__ != "OneClassSVM":
        return Results({"predict": y})
    inside = e.emit("greater", y, 0.0)
    inlier = e.emit("where", inside, e.constant(np.array(1)), e.constant(np.array(-1)))
    scores = e.emit("add", y, float(estimator.offset_[0]))
    return Results({"predict": inlier, "decision_function": y, "score_samples": scores})
