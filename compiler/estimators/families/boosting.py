"""Gradient boosting of sklearn.ensemble: GradientBoosting* and HistGradientBoosting*."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, class_name, family, translator
from ..translate import frame_of, member, translate
from .flat_trees import FlatTrees, flatten
from .scores import add_log, class_of, column, two_columns

family(Kind.GRADIENT_BOOSTING, "GradientBoostingClassifier", "GradientBoostingRegressor")
family(Kind.GRADIENT_BOOSTING, "HistGradientBoostingClassifier", "HistGradientBoostingRegressor")

_LINKS = {"IdentityLink": "", "LogLink": "exp", "LogitLink": "sigmoid"}
CATEGORIES = np.arange(256)


def _classified(e: Emitter, estimator: Any, raw: Value, zero_is_second: bool) -> Results:
    """Classes of raw predictions; of two classes, which one a raw prediction of 0 means differs."""
    decision = e.flat(raw) if int(raw.shape[1]) == 1 else raw
    chosen = class_of(e, decision)
    if len(decision.shape) == 1 and zero_is_second:
        chosen = e.cast(e.emit("greater_or_equal", decision, 0.0), "int64")
    if len(decision.shape) == 2:
        probability = e.emit("softmax", decision, axis=1)
    else:
        is_doubled = class_name(estimator._loss) == "ExponentialLoss"
        scaled = e.emit("mul", decision, 2.0) if is_doubled else decision
        probability = two_columns(e, e.emit("sigmoid", scaled))
    values = {"predict": chosen, "decision_function": decision, "predict_proba": probability}
    if hasattr(estimator, "predict_log_proba"):
        values = add_log(e, values)
    return Results(values, classes=estimator.classes_)


def _boosted(e: Emitter, estimator: Any, x: Frame) -> Value:
    """The raw predictions of a GradientBoosting estimator, whose rows are compared in float32."""
    init, targets = estimator.init_, np.shape(estimator.estimators_)[1]
    constant = isinstance(init, str) or class_name(init).startswith("Dummy")
    base = None
    if constant:
        base = np.asarray(estimator._raw_predict_init(np.zeros((1, x.width))), float).reshape(-1)
    flat = FlatTrees()
    for stage in estimator.estimators_:
        for target, grown in enumerate(stage):
            flatten(flat, grown.tree_, estimator.learning_rate * grown.tree_.value[:, :, 0], target)
    y = flat.emit(e, x.value, targets, base=base, in_float32=True)
    return y if constant else e.emit("add", y, _started(e, estimator, x))


def _started(e: Emitter, estimator: Any, x: Frame) -> Value:
    """The raw predictions of another estimator, from which boosting starts: [rows, targets]."""
    # scikit-learn rounds the rows to float32 for it too.
    rounded = e.cast(e.cast(x.value, "float32"), e.dtype)
    found = member(e, "init_", estimator.init_, replace(x, value=rounded))
    if not hasattr(estimator, "classes_"):
        return column(e, e.cast(found.values["predict"], e.dtype))
    if "predict_proba" not in found.values:
        raise e.unsupported(f"its init, a {class_name(estimator.init_)}, has no predict_proba")
    small = float(np.finfo(e.dtype).eps)
    share = e.emit("clamp", found.values["predict_proba"], min_value=small, max_value=1 - small)
    if int(share.shape[1]) > 2:
        log = e.emit("log", share)
        return e.emit("sub", log, e.emit("reduce_mean", log, axes=(1,), keep_dimensions=True))
    second = e.columns(share, [1])
    logit = e.emit("log", e.emit("div", second, e.emit("sub", e.number(1.0, second), second)))
    return e.emit("mul", logit, 0.5) if class_name(estimator._loss) == "ExponentialLoss" else logit


@translator("GradientBoostingClassifier")
def gradient_boosting_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    return _classified(e, estimator, _boosted(e, estimator, x), zero_is_second=True)


@translator("GradientBoostingRegressor")
def gradient_boosting_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    return Results({"predict": e.flat(_boosted(e, estimator, x))})


def _histogram_boosted(e: Emitter, estimator: Any, x: Frame) -> Value:
    """The raw predictions of a HistGradientBoosting estimator."""
    x = _categories_first(e, estimator, x)
    base = np.asarray(estimator._baseline_prediction, float).reshape(-1)
    known, places = estimator._bin_mapper.make_known_categories_bitsets()
    flat = FlatTrees()
    for stage in estimator._predictors:
        for target, predictor in enumerate(stage):
            nodes = predictor.nodes
            left = nodes["missing_go_to_left"].astype(bool)
            flat.add(
                nodes["left"].astype(np.int64),
                nodes["right"].astype(np.int64),
                nodes["is_leaf"].astype(bool),
                nodes["feature_idx"].astype(np.int64),
                nodes["num_threshold"],
                left,
                nodes["value"][:, None],
                target,
                _sets(predictor, known, places),
            )
    return flat.emit(e, x.value, len(base), base=base)


def _sets(predictor: Any, known: np.ndarray, places: np.ndarray) -> dict[int, np.ndarray]:
    """The categories with which each categorical node goes left; unknown ones go where missing values go."""
    nodes = predictor.nodes
    found = {}
    for place in np.flatnonzero((nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)):
        node = nodes[place]
        chosen = _members(predictor.raw_left_cat_bitsets[node["bitset_idx"]])
        if node["missing_go_to_left"]:
            chosen |= ~_members(known[places[node["feature_idx"]]])
        found[int(place)] = CATEGORIES[chosen].astype(float)
    return found


def _members(bits: np.ndarray) -> np.ndarray:
    """Which of the categories 0 to 255 are in a bit set of eight 32-bit words."""
    return ((np.asarray(bits, np.int64)[CATEGORIES // 32] >> (CATEGORIES % 32)) & 1).astype(bool)


def _categories_first(e: Emitter, estimator: Any, x: Frame) -> Frame:
    """The columns in the order of the trees: categories, as their places, before the numbers."""
    preprocessor = getattr(estimator, "_preprocessor", None)
    if preprocessor is None:
        e.numeric.update(s for s in x.sources if s is not None)
        return x
    encoder = preprocessor.named_transformers_["encoder"]
    chosen = np.flatnonzero(estimator.is_categorical_)
    numbers = np.flatnonzero(~estimator.is_categorical_)
    part = Frame(e.columns(x.value, chosen), tuple(x.sources[i] for i in chosen))
    with e.within(class_name(encoder)):
        parts = [frame_of(e, encoder, translate(e, encoder, part)).value]
    if len(numbers):
        e.numeric.update(s for i in numbers if (s := x.sources[i]) is not None)
        parts.append(e.columns(x.value, numbers))
    return Frame.computed(e.joined(parts))


@translator("HistGradientBoostingClassifier")
def histogram_boosting_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    return _classified(e, estimator, _histogram_boosted(e, estimator, x), zero_is_second=False)


@translator("HistGradientBoostingRegressor")
def histogram_boosting_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    link = class_name(estimator._loss.link)
    if link not in _LINKS:
        raise e.unsupported(f"its loss has a {link}, expected one of {', '.join(_LINKS)}")
    raw = e.flat(_histogram_boosted(e, estimator, x))
    return Results({"predict": e.emit(_LINKS[link], raw) if _LINKS[link] else raw})
