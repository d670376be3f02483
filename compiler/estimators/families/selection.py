"""Selectors of sklearn.feature_selection, which keep some columns as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from basalt.serialization import Kind

from ..emitter import Emitter
from ..registry import Frame, Results, family, translator

family(Kind.SELECTOR, "SelectKBest", "SelectPercentile", "SelectFromModel", "VarianceThreshold")


@translator("SelectKBest", "SelectPercentile", "SelectFromModel", "VarianceThreshold")
def selector(e: Emitter, estimator: Any, x: Frame) -> Results:
    kept = estimator.get_support(indices=True)
    if not len(kept):
        raise e.unsupported("it selects no feature: nothing is left of the rows")
    value = e.columns(x.value, kept)
    return Results({"transform": value}, frame=replace(x, value=value, sources=tuple(x.sources[i] for i in kept)))
