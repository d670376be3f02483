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

_MISSING = -1.0
"""What stands for a missing category until it is encoded."""

family(Kind.ENCODER, "OneHotEncoder", "OrdinalEncoder")


def _categories(e: Emitter, estimator: Any, x: Frame) -> list[np.ndarray]:
    """The categories of each column as the graph's numbers."""
    found = []
    for place, categories in enumerate(estimator.categories_):
        source = x.sources[place]
        is_text = categories.dtype.kind not in "biuf" or (source is not None and source in e.vocabularies)
        if not is_text:
            e.numeric.update(() if source is None else (source,))
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


def _outputs(estimator: Any, sizes: list[int]) -> list[np.ndarray]:
    """For each column the number that its categories become: those that are infrequent share the last one."""
    mappings = getattr(estimator, "_default_to_infrequent_mappings", None) or [None] * len(sizes)
    found = [np.arange(size) if m is None else np.asarray(m) for size, m in zip(sizes, mappings)]
    # An OrdinalEncoder's mapping leaves out the missing category, which is the last one and has a number of its own.
    return [o if len(o) == size else np.append(o, o.max() + 1) for size, o in zip(sizes, found)]


def _is_infrequent(estimator: Any) -> bool:
    return any(c is not None for c in getattr(estimator, "infrequent_categories_", None) or [])


def _merged(e: Emitter, hits: Value, outputs: list[np.ndarray]) -> Value:
    """Whether each element is one of the categories that become a number: uint8 [rows, numbers]."""
    sizes = [int(o.max()) + 1 for o in outputs]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    table = np.zeros((sum(sizes), sum(map(len, outputs))))
    table[np.concatenate([s + o for s, o in zip(starts, outputs)]), np.arange(table.shape[1])] = 1
    return e.emit("greater", e.times(e.cast(hits, e.dtype), table), 0.5)


def _with_unknown(e: Emitter, estimator: Any, hits: Value, known: Value, sizes: list[int]) -> Value:
    """Unknown categories are infrequent ones where a column has such."""
    found = getattr(estimator, "infrequent_categories_", None) or [None] * len(sizes)
    last = np.cumsum(sizes) - 1
    table = np.zeros((sum(sizes), len(sizes)))
    columns = [c for c, infrequent in enumerate(found) if infrequent is not None]
    table[last[columns], columns] = 1
    unknown = e.cast(e.emit("lesser", known, 0.5), e.dtype)
    return e.emit("logical_or", hits, e.emit("greater", e.times(unknown, table), 0.5))


@translator("OneHotEncoder")
def one_hot_encoder(e: Emitter, estimator: Any, x: Frame) -> Results:
    categories = _categories(e, estimator, x)
    sizes = [len(c) for c in categories]
    hits = _hits(e, x.value, np.repeat(np.arange(x.width), sizes), np.concatenate(categories))
    infrequent = _is_infrequent(estimator)
    if estimator.handle_unknown == "error" or infrequent:
        known = _group(e, hits, sizes)
    if estimator.handle_unknown == "error":
        e.unknowns.append(e.any(e.emit("lesser", known, 0.5)))
    if infrequent:
        outputs = _outputs(estimator, sizes)
        hits, sizes = _merged(e, hits, outputs), [int(o.max()) + 1 for o in outputs]
        if estimator.handle_unknown in ("infrequent_if_exist", "warn"):
            hits = _with_unknown(e, estimator, hits, known, sizes)
    value = e.cast(e.columns(hits, _kept(e, estimator, sizes)), _number_type(e, estimator))
    return Results({"transform": value}, frame=Frame.computed(e.cast(value, e.dtype)))


def _kept(e: Emitter, estimator: Any, sizes: list[int]) -> np.ndarray:
    """The columns that are not dropped."""
    kept = np.arange(sum(sizes))
    dropped = getattr(estimator, "_drop_idx_after_grouping", estimator.drop_idx_)
    if dropped is not None:
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        gone = [start + place for start, place in zip(starts, dropped) if place is not None]
        kept = np.setdiff1d(kept, np.array(gone, np.int64))
    if not len(kept):
        raise e.unsupported("it drops every category: nothing is left of the rows")
    return kept


@translator("OrdinalEncoder")
def ordinal_encoder(e: Emitter, estimator: Any, x: Frame) -> Results:
    categories = _categories(e, estimator, x)
    sizes = [len(c) for c in categories]
    hits = _hits(e, x.value, np.repeat(np.arange(x.width), sizes), np.concatenate(categories))
    known = _group(e, hits, sizes)
    codes = [np.asarray(o, float) for o in _outputs(estimator, sizes)]
    for column, place in enumerate(map(_missing_place, estimator.categories_)):
        if place is not None:
            codes[column][place] = _MISSING
    value = _positions(e, hits, codes)
    if any((c == _MISSING).any() for c in codes):
        gap = e.constant(np.array([[float(estimator.encoded_missing_value)]]))
        value = e.choose(e.emit("lesser", value, 0.0), gap, value)
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
