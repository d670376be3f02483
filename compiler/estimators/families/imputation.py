"""SimpleImputer of sklearn.impute, of numbers and of categories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from ..vocabulary import is_missing

family(Kind.IMPUTER, "SimpleImputer")


@translator("SimpleImputer")
def simple_imputer(e: Emitter, estimator: Any, x: Frame) -> Results:
    statistics = np.asarray(estimator.statistics_)
    if np.dtype(estimator._fit_dtype).kind in "OUS":
        if estimator.add_indicator:
            raise e.unsupported("add_indicator=True of categories that are no numbers cannot be translated")
        return _of_categories(e, estimator, x, statistics)
    e.numeric.update(s for s in x.sources if s is not None)
    kept = np.arange(x.width)
    if not estimator.keep_empty_features:
        kept = np.flatnonzero(~np.isnan(statistics.astype(float)))
    if not len(kept):
        raise e.unsupported("every feature was empty when it was fitted: nothing is left of the rows")
    value = e.columns(x.value, kept)
    filled = e.constant(statistics[kept].astype(float)[None])
    value = e.choose(_is_missing(e, value, estimator.missing_values), filled, value)
    sources: tuple[int | None, ...] = tuple(x.sources[i] for i in kept)
    if estimator.add_indicator:
        marks = _marks(e, estimator.indicator_, x)
        value = e.joined([value, *marks])
        sources += (None,) * (int(value.shape[1]) - len(sources))
    return Results({"transform": value}, frame=Frame(value, sources, clean=is_missing(estimator.missing_values)))


def _marks(e: Emitter, indicator: Any, x: Frame) -> list[Value]:
    """1 where a value is missing, else 0, for the features of a MissingIndicator: no or one matrix."""
    places = np.asarray(indicator.features_, np.int64)
    if not len(places):
        return []
    if indicator.error_on_new and indicator.features == "missing-only":
        others = np.setdiff1d(np.arange(x.width), places)
        if len(others):
            e.unknowns.append(e.any(_is_missing(e, e.columns(x.value, others), indicator.missing_values)))
    return [e.cast(_is_missing(e, e.columns(x.value, places), indicator.missing_values), e.dtype)]


def _is_missing(e: Emitter, x: Value, missing: Any) -> Value:
    if missing is None or is_missing(missing):
        return e.emit("is_nan", x)
    return e.emit("equal", x, float(missing))


def _of_categories(e: Emitter, estimator: Any, x: Frame, statistics: np.ndarray) -> Results:
    """Among codes, what is missing is one code more."""
    if any(is_missing(s) or s is None for s in statistics) and not estimator.keep_empty_features:
        raise e.unsupported("a column of categories had no values when it was fitted")
    missing, filling = [], []
    for source, statistic in zip(x.sources, statistics):
        if source is None:
            raise e.unsupported("it fills categories in a column that another step computed; expected the input's own")
        pair = e.vocabularies.codes(source, [estimator.missing_values, statistic])
        missing.append(pair[0])
        filling.append(pair[1])
    gap = e.constant(np.array(missing)[None])
    value = e.choose(e.emit("equal", x.value, gap), e.constant(np.array(filling)[None]), x.value)
    # What comes out are codes, which are no numbers of the user's: the method would need strings as results.
    return Results({}, frame=replace(x, value=value, clean=True))
