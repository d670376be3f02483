"""CalibratedClassifierCV of sklearn.calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from ..translate import member
from .interpolation import interpolated
from .scores import class_of, column, mean_of, shares_of, two_columns

family(Kind.COMPOSITION, "CalibratedClassifierCV")


@translator("CalibratedClassifierCV")
def calibrated_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    """The mean of the probabilities of classifiers, each calibrated on rows that it was not fitted on."""
    members = estimator.calibrated_classifiers_
    found = [_calibrated(e, f"calibrated_classifiers_[{i}]", c, x) for i, c in enumerate(members)]
    probability = mean_of(e, found)
    return Results({"predict": class_of(e, probability), "predict_proba": probability}, classes=estimator.classes_)


def _calibrated(e: Emitter, name: str, calibrated: Any, x: Frame) -> Value:
    values = member(e, name, calibrated.estimator, x).values
    is_decision = "decision_function" in values
    response = values.get("decision_function", values.get("predict_proba"))
    if response is None:
        raise e.unsupported("its classifier has neither decision_function nor predict_proba")
    classes = len(calibrated.classes)
    if calibrated.method == "temperature":
        return _tempered(e, float(calibrated.calibrators[0].beta_), response, is_decision)
    if len(response.shape) == 2 and classes == 2:
        response = e.flat(e.columns(response, [1]))
    if classes == 2:
        return two_columns(e, e.flat(_curve(e, calibrated.calibrators[0], column(e, response))))
    parts = [_curve(e, c, e.columns(response, [i])) for i, c in enumerate(calibrated.calibrators)]
    if len(parts) != classes:
        raise e.unsupported("a classifier of it was fitted without some of the classes")
    together = e.joined(parts)
    return shares_of(e, together)


def _curve(e: Emitter, calibrator: Any, response: Value) -> Value:
    """The probability for each response, [rows, 1]."""
    if hasattr(calibrator, "a_"):
        line = e.emit("add", e.emit("mul", response, -float(calibrator.a_)), -float(calibrator.b_))
        return e.emit("sigmoid", line)
    return interpolated(e, response, np.asarray(calibrator.X_thresholds_), np.asarray(calibrator.y_thresholds_))


def _tempered(e: Emitter, scale: float, response: Value, is_decision: bool) -> Value:
    if len(response.shape) == 1:
        last = column(e, response)
        logits = e.emit("concat", e.emit("neg", last), last, axis=1)
    else:
        logits = response if is_decision else e.emit("log", e.emit("add", response, 1e-12))
    return e.emit("softmax", e.emit("mul", logits, scale), axis=1)
