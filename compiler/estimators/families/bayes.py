"""GaussianNB of sklearn.naive_bayes."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .scores import class_of

family(Kind.NAIVE_BAYES, "GaussianNB")


@translator("GaussianNB")
def gaussian_nb(e: Emitter, estimator: Any, x: Frame) -> Results:
    variance = np.asarray(estimator.var_, float)
    constant = np.log(estimator.class_prior_) - 0.5 * np.sum(np.log(2 * np.pi * variance), axis=1)
    rows = e.reshape(x.value, (e.rows, 1, x.width))
    distance = e.emit("sub", rows, e.constant(np.asarray(estimator.theta_, float)[None]))
    terms = e.emit("div", e.emit("mul", distance, distance), e.constant(variance[None]))
    sums = e.emit("reduce_sum", terms, axes=(2,), keep_dimensions=False)
    joint = e.emit("add", e.emit("mul", sums, -0.5), constant)
    total = e.emit("reduce_log_sum_exp", joint, axes=(1,), keep_dimensions=True)
    log = e.emit("sub", joint, total)
    values = {"predict": class_of(e, joint), "predict_proba": e.emit("exp", log), "predict_log_proba": log}
    return Results(
        {**values, "predict_joint_log_proba": joint},
        classes=estimator.classes_,
    )
