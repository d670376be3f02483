"""LinearDiscriminantAnalysis and QuadraticDiscriminantAnalysis of sklearn.discriminant_analysis."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .gaussians import log_densities
from .linear import scores
from .scores import class_of, two_columns

family(Kind.DISCRIMINANT_ANALYSIS, "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis")


@translator("LinearDiscriminantAnalysis")
def linear_discriminant_analysis(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = scores(e, x, estimator.coef_, estimator.intercept_)
    if int(y.shape[1]) == 1:
        decision = e.flat(y)
        probability = two_columns(e, e.emit("sigmoid", decision))
    else:
        decision, probability = y, e.emit("softmax", y, axis=1)
    values = {"predict": class_of(e, decision), "decision_function": decision, "predict_proba": probability}
    # scikit-learn takes the smallest normal number for 0, so that the logarithm is finite.
    held = e.choose(e.emit("equal", probability, 0.0), float(np.finfo(e.dtype).smallest_normal), probability)
    values["predict_log_proba"] = e.emit("log", held)
    if estimator.solver != "lsqr":
        values["transform"] = _projected(e, estimator, x.value)
    return Results(values, classes=estimator.classes_)


def _projected(e: Emitter, estimator: Any, x: Value) -> Value:
    scalings = np.asarray(estimator.scalings_)[:, : estimator._max_components]
    centred = e.emit("sub", x, np.asarray(estimator.xbar_)) if estimator.solver == "svd" else x
    return e.times(centred, scalings.T)


@translator("QuadraticDiscriminantAnalysis")
def quadratic_discriminant_analysis(e: Emitter, estimator: Any, x: Frame) -> Results:
    factors = [np.asarray(r) * np.asarray(s) ** -0.5 for r, s in zip(estimator.rotations_, estimator.scalings_)]
    logs = np.array([np.sum(np.log(s)) for s in estimator.scalings_])
    joint = log_densities(e, x.value, estimator.means_, factors, -0.5 * logs + np.log(estimator.priors_))
    total = e.emit("reduce_log_sum_exp", joint, axes=(1,), keep_dimensions=True)
    log = e.emit("sub", joint, total)
    values = {"predict": class_of(e, joint), "predict_proba": e.emit("exp", log), "predict_log_proba": log}
    values["decision_function"] = joint
    if len(estimator.classes_) == 2:
        decision = e.emit("sub", e.flat(e.columns(joint, [1])), e.flat(e.columns(joint, [0])))
        values |= {"decision_function": decision, "predict": class_of(e, decision)}
    return Results(values, classes=estimator.classes_)
