"""One step: check what it may be given, then hand it to its class's translator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir import Value
from .emitter import Emitter
from .registry import Frame, Results, class_name, translator_of

__all__ = ["COMPOSITIONS", "frame_of", "member", "translate"]

COMPOSITIONS = frozenset({"Pipeline", "ColumnTransformer", "FeatureUnion", "FunctionTransformer"})
"""Classes whose steps have labels of their own."""
CONTAINERS = COMPOSITIONS | {
    "BaggingClassifier",
    "BaggingRegressor",
    "CalibratedClassifierCV",
    "ClassifierChain",
    "DummyClassifier",
    "DummyRegressor",
    "FixedThresholdClassifier",
    "FrozenEstimator",
    "GridSearchCV",
    "HalvingGridSearchCV",
    "HalvingRandomSearchCV",
    "MultiOutputClassifier",
    "MultiOutputRegressor",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "RandomizedSearchCV",
    "RegressorChain",
    "StackingClassifier",
    "StackingRegressor",
    "TransformedTargetRegressor",
    "TunedThresholdClassifierCV",
    "VotingClassifier",
    "VotingRegressor",
}
"""Classes that look at no element themselves."""
TAKE_CATEGORIES = frozenset(
    {
        "OneHotEncoder",
        "OrdinalEncoder",
        "SimpleImputer",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
    }
)
"""Classes that take categories that are no numbers, and say themselves which columns they take for numbers."""


def translate(e: Emitter, estimator: Any, frame: Frame) -> Results:
    """What an estimator's methods give for a matrix.

    Raises:
        UnsupportedError: for a class or parameter without a translation, with the step's path.
    """
    function = translator_of(e, estimator)
    fitted = getattr(estimator, "n_features_in_", frame.width)
    if fitted != frame.width:
        raise e.unsupported(f"takes {fitted} features, but is given {frame.width}")
    if class_name(estimator) in CONTAINERS:
        return _with_frame(function(e, estimator, frame))
    if class_name(estimator) not in TAKE_CATEGORIES:
        e.numeric.update(s for s in frame.sources if s is not None)
    takes_nan = bool(estimator.__sklearn_tags__().input_tags.allow_nan)
    if not frame.clean:
        _refuse(e, frame, takes_nan)
        frame = replace(frame, clean=not takes_nan, strays=frame.strays and takes_nan)
    return _with_frame(function(e, estimator, frame), frame)


def member(e: Emitter, name: str, estimator: Any, frame: Frame) -> Results:
    """What the methods of an estimator inside another give; ``name`` is its part in the path of errors."""
    with e.within(f"{name}.{class_name(estimator)}"):
        return translate(e, estimator, frame)


def frame_of(e: Emitter, estimator: Any, results: Results) -> Frame:
    """What the step after a transformer is given."""
    if results.frame is None:
        raise e.unsupported(f"{class_name(estimator)} has no transform, which a step before the last needs")
    return results.frame


def _with_frame(results: Results, given: Frame | None = None) -> Results:
    transformed = results.values.get("transform")
    if results.frame is None and transformed is not None and len(transformed.shape) == 2:
        made = Frame.computed(transformed)
        results.frame = made if given is None else replace(made, clean=given.clean, strays=given.strays)
    return results


def _refuse(e: Emitter, frame: Frame, takes_nan: bool) -> None:
    """Several estimators that take the same matrix check it once."""
    if (frame.value, takes_nan) in e.inspected:
        return
    e.inspected.add((frame.value, takes_nan))
    (e.strays if frame.strays else e.refusals).append(_refusal(e, frame.value, takes_nan))


def _refusal(e: Emitter, x: Value, takes_nan: bool) -> Value:
    found = e.emit("is_infinite", x)
    return e.any(found if takes_nan else e.emit("logical_or", found, e.emit("is_nan", x)))
