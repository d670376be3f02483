"""OneHotEncoder and OrdinalEncoder of sklearn.preprocessing, of numbers and of other categories.

A column of other categories enters as codes (see ``vocabulary``), so that both are comparisons of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from ..vocabulary import is_missing

family(Kind.ENCODER, "OneHotEncoder", "OrdinalEncoder")


def _categories(e: Emitter, estimator: Any, x: Frame) -> list[np.ndarray]:
    """The categories of each column as the graph's numbers."""
    found = []
    for place, categories in enumerate(estimator.categories_):
        source = x.sources[place]
        is_text = categories.dtype.kind not in "biuf" or (source is not None and source in e.vocabularies)
        if not is_text:
            found.append(np.asarray(categories, float))
        elif source is None:
            raise e.unsupported(f"column {place} holds categories that another step computed; expected the input's own")
        else:
            found.append(e.vocabularies.codes(source, categories))
    return found


def _hits(e: Emitter, x: Value, places: np.ndarray, categories: np.ndarray) -> Value:
    """Whether each element is a category: uint8 [rows, categories]; NaN equals NaN."""
    spread = e.columns(x, places)
    hits = e.emit("equal", spread, e.constant(categories[None]))
    missing = np.isnan(categories)
    if missing.any():
        is_gap = e.emit("logical_and", e.emit("is_nan", spread), e.constant(missing[None].astype(np.uint8)))
        hits = e.emit("logical_or", hits, is_gap)
    return hits


def _group(e: Emitter, hits: Value, sizes: list[int]) -> Value:
    """How many of each column's categories an element is: [rows, columns] in the working data type."""
    weights = np.zeros((len(sizes), sum(sizes)))
    weights[np.repeat(np.arange(len(sizes)), sizes), np.arange(sum(sizes))] = 1
    return e.times(e.cast(hits, e.dtype), weights)


@translator("OneHotEncoder")
def one_hot_encoder(e: Emitter, estimator: Any, x: Frame) -> Results:
    if any(c is not None for c in getattr(estimator, "infrequent_categories_", None) or []):
        raise e.unsupported("infrequent categories (min_frequency, max_categories) cannot be translated")
    categories = _categories(e, estimator, x)
    sizes = [len(c) for c in categories]
    hits = _hits(e, x.value, np.repeat(np.arange(x.width), sizes), np.concatenate(categories))
    if estimator.handle_unknown == "error":
        known = _group(e, hits, sizes)
        e.unknowns.append(e.any(e.emit("lesser", known, 0.5)))
    kept = np.arange(sum(sizes))
    dropped = estimator.drop_idx_
    if dropped is not None:
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        gone = [start + place for start, place in zip(starts, dropped) if place is not None]
        kept = np.setdiff1d(kept, np.array(gone, np.int64))
    if not len(kept):
        raise e.unsupported("it drops every category: nothing is left of the rows")
    value = e.cast(e.columns(hits, kept), _number_type(e, estimator))
    return Results({"transform": value}, frame=Frame.computed(e.cast(value, e.dtype)))


@translator("OrdinalEncoder")
def ordinal_encoder(e: Emitter, estimator: Any, x: Frame) -> Results:
    if any(c is not None for c in getattr(estimator, "infrequent_categories_", None) or []):
        raise e.unsupported("infrequent categories (min_frequency, max_categories) cannot be translated")
    categories = _categories(e, estimator, x)
    sizes = [len(c) for c in categories]
    hits = _hits(e, x.value, np.repeat(np.arange(x.width), sizes), np.concatenate(categories))
    known = _group(e, hits, sizes)
    codes = [np.arange(size, dtype=float) for size in sizes]
    missing = [_missing_place(c) for c in estimator.categories_]
    value = _positions(e, hits, codes)
    gaps = [m is not None for m in missing]
    if any(gaps):
        at = np.array([-1.0 if m is None else float(m) for m in missing])
        is_gap = e.emit("equal", value, e.constant(at[None]))
        is_gap = e.emit("logical_and", is_gap, e.emit("greater", known, 0.5))
        value = e.choose(is_gap, e.constant(np.array([[float(estimator.encoded_missing_value)]])), value)
    is_unknown = e.emit("lesser", known, 0.5)
    if estimator.handle_unknown == "error":
        e.unknowns.append(e.any(is_unknown))
    else:
        value = e.choose(is_unknown, e.constant(np.array([[float(estimator.unknown_value)]])), value)
    value = e.cast(value, _number_type(e, estimator))
    return Results({"transform": value}, frame=Frame.computed(e.cast(value, e.dtype)))


def _positions(e: Emitter, hits: Value, codes: list[np.ndarray]) -> Value:
    """The place of each element among its column's categories; 0 for an unknown one."""
    sizes = [len(c) for c in codes]
    weights = np.zeros((len(sizes), sum(sizes)))
    weights[np.repeat(np.arange(len(sizes)), sizes), np.arange(sum(sizes))] = np.concatenate(codes)
    return e.times(e.cast(hits, e.dtype), weights)


def _missing_place(categories: np.ndarray) -> int | None:
    places = [i for i, c in enumerate(categories.tolist()) if is_missing(c)]
    return places[-1] if places else None


def _number_type(e: Emitter, estimator: Any) -> str:
    """The data type of the codes: the encoder's own, except that float64 is the working data type."""
    dtype = np.dtype(estimator.dtype)
    if dtype.kind not in "iuf" or dtype.name == "float16":
        raise e.unsupported(f"dtype is {dtype}, expected integers, float32 or float64")
    return e.dtype if dtype == np.float64 else dtype.name
