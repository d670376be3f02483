"""Voting, stacking, bagging and AdaBoost of sklearn.ensemble: estimators over the results of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from ..translate import member
from .scores import add_log, class_of, column, mean_of, one_hot, two_columns

family(Kind.COMPOSITION, "VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor")
family(Kind.COMPOSITION, "BaggingClassifier", "BaggingRegressor", "AdaBoostClassifier", "AdaBoostRegressor")


def _members(e: Emitter, estimator: Any, x: Frame) -> list[Results]:
    """The results of the named estimators that are not dropped."""
    kept = [name for name, step in estimator.estimators if not isinstance(step, str)]
    return [member(e, name, step, x) for name, step in zip(kept, estimator.estimators_)]


def _one_target(e: Emitter, estimator: Any) -> None:
    if isinstance(estimator.classes_, list):
        raise e.unsupported("it predicts several labels a row; expected one class")


@translator("VotingClassifier")
def voting_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Of classes with equal votes the first is chosen."""
    _one_target(e, estimator)
    found, weights = _members(e, estimator, x), estimator._weights_not_none
    if estimator.voting == "hard":
        chosen = [r.values["predict"] for r in found]
        shares = [1.0] * len(found) if weights is None else list(weights)
        votes = mean_of(e, [one_hot(e, c, len(estimator.classes_)) for c in chosen], shares)
        values = {"predict": class_of(e, votes), "transform": e.joined([column(e, c) for c in chosen])}
        frame = Frame.computed(e.cast(values["transform"], e.dtype))
        return Results(values, classes=estimator.classes_, frame=frame)
    probabilities = [r.values["predict_proba"] for r in found]
    mean = mean_of(e, probabilities, weights)
    values = {"predict": class_of(e, mean), "predict_proba": mean, "transform": e.joined(probabilities)}
    if not estimator.flatten_transform:
        stacked = [e.reshape(p, (1, *p.shape)) for p in probabilities]
        values["transform"] = stacked[0] if len(stacked) == 1 else e.emit("concat", *stacked, axis=0)
    return Results(values, classes=estimator.classes_)


@translator("VotingRegressor")
def voting_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    found = [r.values["predict"] for r in _members(e, estimator, x)]
    together = e.joined([column(e, f) for f in found])
    return Results({"predict": mean_of(e, found, estimator._weights_not_none), "transform": together})


def _stacked(e: Emitter, estimator: Any, x: Frame) -> Frame:
    """What the members say, side by side, then the rows themselves if they pass through."""
    parts = []
    classes = getattr(estimator, "classes_", None)
    for step, found, method in zip(estimator.estimators_, _members(e, estimator, x), estimator.stack_method_):
        if method not in found.values:
            raise e.unsupported(f"{type(step).__name__} has no {method} that could be translated")
        value = found.values[method]
        if method == "predict" and found.classes is not None:
            value = _class_numbers(e, found, value)
        if len(value.shape) == 1:
            value = column(e, value)
        elif method == "predict_proba" and classes is not None and len(classes) == 2:
            value = e.columns(value, [1])
        parts.append(e.cast(value, e.dtype))
    if estimator.passthrough:
        e.numeric.update(s for s in x.sources if s is not None)
        parts.append(x.value)
    return Frame.computed(e.joined(parts))


def _class_numbers(e: Emitter, found: Results, places: Value) -> Value:
    labels = np.asarray(found.classes)
    if labels.dtype.kind not in "biuf":
        raise e.unsupported("the final estimator takes classes that are no numbers")
    return e.emit("gather", e.constant(labels.astype(float)), places, axis=0)


@translator("StackingClassifier", "StackingRegressor")
def stacking(e: Emitter, estimator: Any, x: Frame) -> Results:
    if hasattr(estimator, "classes_"):
        _one_target(e, estimator)
    between = _stacked(e, estimator, x)
    final = member(e, "final_estimator", estimator.final_estimator_, between)
    kept = ("predict", "predict_proba", "decision_function")
    values = {name: value for name, value in final.values.items() if name in kept}
    return Results({**values, "transform": between.value}, getattr(estimator, "classes_", None), frame=between)


def _bagged(e: Emitter, estimator: Any, x: Frame) -> list[Results]:
    """The results of members, each for its own features."""
    found = []
    for index, (step, features) in enumerate(zip(estimator.estimators_, estimator.estimators_features_)):
        chosen = np.asarray(features, np.int64)
        part = Frame(e.columns(x.value, chosen), tuple(x.sources[i] for i in chosen), x.clean, x.strays)
        if np.array_equal(chosen, np.arange(x.width)):
            part = x
        found.append(member(e, f"estimators_[{index}]", step, part))
    return found


@translator("BaggingClassifier")
def bagging_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    found, size = _bagged(e, estimator, x), len(estimator.classes_)
    shares = []
    for step, result in zip(estimator.estimators_, found):
        if "predict_proba" in result.values:
            shares.append(_among(e, result.values["predict_proba"], step.classes_, size))
        else:
            shares.append(_among(e, one_hot(e, result.values["predict"], len(step.classes_)), step.classes_, size))
    probability = mean_of(e, shares)
    values = add_log(e, {"predict": class_of(e, probability), "predict_proba": probability})
    if all("decision_function" in r.values for r in found):
        values["decision_function"] = mean_of(e, [r.values["decision_function"] for r in found])
    return Results(values, classes=estimator.classes_)


def _among(e: Emitter, shares: Value, places: Any, size: int) -> Value:
    """Shares of some classes, at their places among all: [rows, size]."""
    chosen = np.asarray(places, np.int64)
    if len(chosen) == size:
        return shares
    return e.times(shares, np.eye(size)[:, chosen])


@translator("BaggingRegressor")
def bagging_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    return Results({"predict": mean_of(e, [r.values["predict"] for r in _bagged(e, estimator, x)])})


@translator("AdaBoostClassifier")
def ada_boost_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    """SAMME: each member adds its weight for the class that it predicts, and a share of it against the others."""
    if getattr(estimator, "algorithm", "SAMME") == "SAMME.R":
        raise e.unsupported("algorithm is 'SAMME.R', expected 'SAMME'")
    classes, weights = len(estimator.classes_), np.asarray(estimator.estimator_weights_, float)
    total = []
    for index, (step, weight) in enumerate(zip(estimator.estimators_, weights)):
        found = member(e, f"estimators_[{index}]", step, x).values["predict"]
        places = np.searchsorted(estimator.classes_, step.classes_)
        table = np.full((len(places), classes), -weight / max(classes - 1, 1))
        table[np.arange(len(places)), places] = weight
        total.append(e.emit("gather", e.constant(table), found, axis=0))
    share = e.emit("mul", mean_of(e, total), len(total) / float(weights[: len(total)].sum()))
    if classes == 1:
        decision = e.emit("mul", share, 0.0)
        values = {"predict": e.cast(e.flat(decision), "int64"), "predict_proba": e.emit("add", decision, 1.0)}
        return Results(add_log(e, {**values, "decision_function": decision}), classes=estimator.classes_)
    if classes == 2:
        decision = e.sum_columns(e.emit("mul", share, np.array([-1.0, 1.0])))
        probability = two_columns(e, e.emit("sigmoid", decision))
    else:
        decision = share
        probability = e.emit("softmax", e.emit("div", share, float(classes - 1)), axis=1)
    values = {"predict": class_of(e, decision), "decision_function": decision, "predict_proba": probability}
    return Results(add_log(e, values), classes=estimator.classes_)


@translator("AdaBoostRegressor")
def ada_boost_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    """The weighted median of the members' predictions."""
    found = [
        column(e, member(e, f"estimators_[{index}]", step, x).values["predict"])
        for index, step in enumerate(estimator.estimators_)
    ]
    together = e.joined(found)
    values, places = e.emit_all("top_k", together, k=len(found), axis=1, largest=False)
    weights = np.asarray(estimator.estimator_weights_, float)[: len(found)]
    sums = e.emit("cumulative_sum", e.emit("gather", e.constant(weights), places, axis=0), axis=1)
    half = e.emit("mul", e.columns(sums, [len(found) - 1]), 0.5)
    reached = e.emit("greater_or_equal", sums, half)
    first = e.emit("arg_max", e.cast(reached, e.dtype), axis=1, keep_dimensions=True, output_data_type="int64")
    return Results({"predict": e.flat(e.emit("gather_elements", values, first, axis=1))})
