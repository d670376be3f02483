"""Searches, thresholds, transformed targets and dummies: estimators that hand their rows to one other, or to none."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, class_name, family, inverse, inverse_of, translator
from ..translate import member
from .functions import emit_function
from .scores import add_log, column

_SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")

family(Kind.COMPOSITION, *_SEARCHES, "FrozenEstimator", "FixedThresholdClassifier", "TunedThresholdClassifierCV")
family(Kind.COMPOSITION, "TransformedTargetRegressor", "RANSACRegressor")
family(Kind.BASELINE, "DummyRegressor", "DummyClassifier")


def _inner(estimator: Any) -> tuple[str, Any]:
    if class_name(estimator) in _SEARCHES:
        return "best_estimator_", estimator.best_estimator_
    return "estimator", estimator.estimator


@translator(*_SEARCHES, "FrozenEstimator")
def search(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Its methods are those of the estimator that it found."""
    return member(e, *_inner(estimator), x)


@inverse(*_SEARCHES, "FrozenEstimator")
def search_inverse(e: Emitter, estimator: Any, z: Value) -> Value | None:
    name, inner = _inner(estimator)
    function = inverse_of(inner)
    with e.within(f"{name}.{class_name(inner)}"):
        return None if function is None else function(e, inner, z)


@translator("FixedThresholdClassifier", "TunedThresholdClassifierCV")
def threshold_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    """The second class where its score, or that of ``pos_label``, reaches the threshold."""
    found = member(e, "estimator_", estimator.estimator_, x)
    tuned = class_name(estimator) == "TunedThresholdClassifierCV"
    threshold = estimator.best_threshold_ if tuned else estimator.threshold
    method = estimator.response_method
    if method == "auto":
        method = "predict_proba" if "predict_proba" in found.values else "decision_function"
    if not tuned and estimator.threshold == "auto":
        threshold = 0.5 if method == "predict_proba" else 0.0
    pos_label = getattr(estimator, "pos_label", None)
    if tuned:
        pos_label = estimator._curve_scorer._get_pos_label()
    place = 1 if pos_label is None else int(np.flatnonzero(np.asarray(estimator.classes_) == pos_label)[0])
    score = found.values[method]
    if method == "predict_proba":
        score = e.flat(e.columns(score, [place]))
    elif place == 0:
        score = e.emit("neg", score)
    reached = e.cast(e.emit("greater_or_equal", score, float(threshold)), "int64")
    chosen = reached if place == 1 else e.emit("sub", e.number(1, reached), reached)
    return Results({**found.values, "predict": chosen}, classes=estimator.classes_, finishes=found.finishes)


@translator("RANSACRegressor")
def ransac_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    return Results({"predict": member(e, "estimator", estimator.estimator_, x).values["predict"]})


@translator("TransformedTargetRegressor")
def transformed_target_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = member(e, "regressor_", estimator.regressor_, x).values["predict"]
    transformer = estimator.transformer_
    given = column(e, y) if len(y.shape) == 1 else y
    with e.within(f"transformer_.{class_name(transformer)}"):
        if class_name(transformer) == "FunctionTransformer":
            made = emit_function(e, transformer.inverse_func, transformer.inv_kw_args, given)
        else:
            function = inverse_of(transformer)
            translated = None if function is None else function(e, transformer, given)
            if translated is None:
                raise e.unsupported("its inverse_transform cannot be translated")
            made = translated
    return Results({"predict": e.flat(made) if estimator._training_dim == 1 and int(made.shape[1]) == 1 else made})


def _repeated(e: Emitter, x: Frame, row: Any) -> Value:
    """One row of numbers, for every row: [rows, numbers]."""
    held = np.atleast_2d(np.asarray(row, float))
    first = e.columns(x.value, [0])
    same = e.emit("equal", first, first)
    return e.emit("where", same, e.constant(held), e.constant(held))


@translator("DummyRegressor")
def dummy_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = _repeated(e, x, np.asarray(estimator.constant_).reshape(1, -1))
    return Results({"predict": e.flat(y) if estimator.n_outputs_ == 1 else y})


@translator("DummyClassifier")
def dummy_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    if estimator.n_outputs_ != 1 or estimator._strategy not in ("prior", "most_frequent", "constant"):
        raise e.unsupported(
            f"strategy is {estimator._strategy!r} of {estimator.n_outputs_} targets, expected one target and 'prior', "
            f"'most_frequent' or 'constant'"
        )
    shares = np.asarray(estimator.class_prior_, float)
    place = int(np.argmax(shares))
    if estimator._strategy == "constant":
        place = int(np.flatnonzero(np.asarray(estimator.classes_) == estimator.constant)[0])
    if estimator._strategy != "prior":
        shares = np.eye(len(shares))[place]
    chosen = e.cast(e.flat(_repeated(e, x, [place])), "int64")
    values = {"predict": chosen, "predict_proba": _repeated(e, x, shares)}
    return Results(add_log(e, values), classes=estimator.classes_)
