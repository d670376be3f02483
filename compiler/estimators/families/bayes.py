"""GaussianNB, BernoulliNB, MultinomialNB and ComplementNB of sklearn.naive_bayes."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .scores import class_of

family(Kind.NAIVE_BAYES, "GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB")


@translator("GaussianNB")
def gaussian_nb(e: Emitter, estimator: Any, x: Frame) -> Results:
    variance = np.asarray(estimator.var_, float)
    constant = np.log(estimator.class_prior_) - 0.5 * np.sum(np.log(2 * np.pi * variance), axis=1)
    rows = e.reshape(x.value, (e.rows, 1, x.width))
    distance = e.emit("sub", rows, e.constant(np.asarray(estimator.theta_, float)[None]))
    terms = e.emit("div", e.emit("mul", distance, distance), e.constant(variance[None]))
    sums = e.emit("reduce_sum", terms, axes=(2,), keep_dimensions=False)
    joint = e.emit("add", e.emit("mul", sums, -0.5), constant)
    return _from_joint(e, joint, estimator.classes_)


def _from_joint(e: Emitter, joint: Value, classes: Any) -> Results:
    """The methods of a classifier by the logarithms of the joint densities, [rows, classes]."""
    total = e.emit("reduce_log_sum_exp", joint, axes=(1,), keep_dimensions=True)
    log = e.emit("sub", joint, total)
    values = {"predict": class_of(e, joint), "predict_proba": e.emit("exp", log), "predict_log_proba": log}
    return Results({**values, "predict_joint_log_proba": joint}, classes=classes)


@translator("BernoulliNB")
def bernoulli_nb(e: Emitter, estimator: Any, x: Frame) -> Results:
    rows = x.value
    if estimator.binarize is not None:
        rows = e.cast(e.emit("greater", rows, float(estimator.binarize)), e.dtype)
    present = np.asarray(estimator.feature_log_prob_, float)
    absent = np.log(1 - np.exp(present))
    joint = e.emit("add", e.times(rows, present - absent), estimator.class_log_prior_ + absent.sum(axis=1))
    return _from_joint(e, joint, estimator.classes_)


@translator("MultinomialNB")
def multinomial_nb(e: Emitter, estimator: Any, x: Frame) -> Results:
    joint = e.emit("add", e.times(x.value, estimator.feature_log_prob_), np.asarray(estimator.class_log_prior_, float))
    return _from_joint(e, joint, estimator.classes_)


@translator("ComplementNB")
def complement_nb(e: Emitter, estimator: Any, x: Frame) -> Results:
    joint = e.times(x.value, estimator.feature_log_prob_)
    if len(estimator.classes_) == 1:
        joint = e.emit("add", joint, np.asarray(estimator.class_log_prior_, float))
    return _from_joint(e, joint, estimator.classes_)
