"""MLPClassifier and MLPRegressor of sklearn.neural_network."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .scores import add_log, class_of, two_columns

family(Kind.NEURAL_NETWORK, "MLPClassifier", "MLPRegressor")

_ACTIVATIONS = {"identity": "", "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}


def _output(e: Emitter, estimator: Any, x: Frame) -> Value:
    """The last layer before its activation: [rows, outputs]."""
    if estimator.activation not in _ACTIVATIONS:
        raise e.unsupported(f"activation is {estimator.activation!r}, expected one of {', '.join(_ACTIVATIONS)}")
    y, last = x.value, len(estimator.coefs_) - 1
    for index, (weights, bias) in enumerate(zip(estimator.coefs_, estimator.intercepts_)):
        y = e.emit("add", e.times(y, np.asarray(weights).T), np.asarray(bias))
        operator = _ACTIVATIONS[estimator.activation]
        if operator and index < last:
            y = e.emit(operator, y)
    return y


@translator("MLPClassifier")
def mlp_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = _output(e, estimator, x)
    if estimator.out_activation_ == "softmax":
        probability = e.emit("softmax", y, axis=1)
        chosen = class_of(e, probability)
    elif estimator.out_activation_ == "logistic" and int(y.shape[1]) == 1:
        second = e.emit("sigmoid", e.flat(y))
        probability = two_columns(e, second)
        # Of a single class, the network has a score beside the point.
        chosen = e.cast(e.emit("greater", second, 0.5 if len(estimator.classes_) > 1 else np.inf), "int64")
    else:
        probability = e.emit("sigmoid", y)
        chosen = e.cast(e.emit("greater", probability, 0.5), "int64")
    return Results(add_log(e, {"predict": chosen, "predict_proba": probability}), classes=estimator.classes_)


@translator("MLPRegressor")
def mlp_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = _output(e, estimator, x)
    operator = {"identity": "", "exp": "exp"}.get(estimator.out_activation_)
    if operator is None:
        raise e.unsupported(f"its output has the activation {estimator.out_activation_!r}")
    y = e.emit(operator, y) if operator else y
    return Results({"predict": e.flat(y) if int(y.shape[1]) == 1 else y})
