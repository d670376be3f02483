"""Selectors of sklearn.feature_selection, which keep some columns as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from basalt.serialization import Kind

from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from ..translate import member

_UNIVARIATE = ("SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect")
_SELECTORS = (*_UNIVARIATE, "SelectFromModel", "SequentialFeatureSelector", "VarianceThreshold")

family(Kind.SELECTOR, *_SELECTORS, "RFE", "RFECV")


@translator(*_SELECTORS)
def selector(e: Emitter, estimator: Any, x: Frame) -> Results:
    kept = estimator.get_support(indices=True)
    if not len(kept):
        raise e.unsupported("it selects no feature: nothing is left of the rows")
    value = e.columns(x.value, kept)
    return Results({"transform": value}, frame=replace(x, value=value, sources=tuple(x.sources[i] for i in kept)))


@translator("RFE", "RFECV")
def recursive_elimination(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Beside the columns, what the estimator that was fitted to them says."""
    selected = selector(e, estimator, x)
    assert selected.frame is not None
    if not hasattr(estimator.estimator_, "predict"):
        return selected
    found = member(e, "estimator_", estimator.estimator_, selected.frame)
    values = {**found.values, **selected.values}
    return replace(found, values=values, frame=selected.frame)
