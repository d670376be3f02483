"""Support vector machines with kernels (libsvm's) of sklearn.svm."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..finishes import PAIRS
from ..registry import Frame, Results, family, translator
from .kernels import kernel
from .scores import class_of, one_versus_rest, pair_votes

family(Kind.KERNEL_MACHINE, "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


def _kernel_of(e: Emitter, estimator: Any, x: Frame) -> Value:
    vectors = np.asarray(estimator.support_vectors_)
    gamma, offset = float(estimator._gamma), float(estimator.coef0)
    return kernel(e, estimator.kernel, x.value, vectors, gamma=gamma, offset=offset, degree=estimator.degree)


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


@translator("SVC", "NuSVC")
def svc(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Each pair of classes votes; one with a positive decision for the first of the two."""
    classes = len(estimator.classes_)
    pairs = e.emit(
        "add", e.times(_kernel_of(e, estimator, x), _pair_weights(estimator)), np.asarray(estimator._intercept_)
    )
    if classes == 2:
        decision = e.emit("neg", e.flat(pairs))
        chosen = _second(e, decision)
    else:
        votes = pair_votes(e, e.emit("greater", pairs, 0.0), classes)
        decision = pairs
        if estimator.decision_function_shape == "ovr":
            # A decision of 0 is a vote for the first class here, and for the second one in libsvm's own prediction.
            shaped = pair_votes(e, e.emit("greater_or_equal", pairs, 0.0), classes)
            decision = one_versus_rest(e, shaped, pairs)
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


@translator("SVR", "NuSVR", "OneClassSVM")
def svr(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = e.times(_kernel_of(e, estimator, x), np.asarray(estimator._dual_coef_))
    y = e.flat(e.emit("add", y, np.asarray(estimator._intercept_)))
    if type(estimator).__name__ != "OneClassSVM":
        return Results({"predict": y})
    inside = e.emit("greater", y, 0.0)
    inlier = e.emit("where", inside, e.constant(np.array(1)), e.constant(np.array(-1)))
    scores = e.emit("add", y, float(estimator.offset_[0]))
    return Results({"predict": inlier, "decision_function": y, "score_samples": scores})
