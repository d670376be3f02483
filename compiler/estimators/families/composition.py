"""Pipeline, ColumnTransformer, FeatureUnion and FunctionTransformer: estimators of estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, class_name, family, inverse, inverse_of, translator
from ..translate import frame_of, translate
from .functions import STRAYING, emit_function

family(Kind.COMPOSITION, "Pipeline", "ColumnTransformer", "FeatureUnion", "FunctionTransformer")


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


@translator("Pipeline")
def pipeline(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Steps are labelled step0, step1 and so on; the last one, if it predicts, est."""
    results = Results({"transform": x.value}, frame=x)
    last = len(estimator.steps) - 1
    for index, (name, step) in enumerate(estimator.steps):
        if _is_nothing(step):
            continue
        predicts = index == last and not hasattr(step, "transform")
        with e.within(name, "est" if predicts else f"step{index}"), e.within(class_name(step)):
            results = translate(e, step, x)
            if index < last:
                x = frame_of(e, step, results)
                results = Results({"transform": x.value}, frame=x)
    return results


@inverse("Pipeline")
def pipeline_inverse(e: Emitter, estimator: Any, z: Value) -> Value | None:
    for _, step in reversed(estimator.steps):
        if _is_nothing(step):
            continue
        function = inverse_of(step)
        made = None if function is None else function(e, step, z)
        if made is None:
            return None
        z = made
    return z


@translator("FunctionTransformer")
def function_transformer(e: Emitter, estimator: Any, x: Frame) -> Results:
    if estimator.func is None:
        return Results({"transform": x.value}, frame=x)
    e.numeric.update(s for s in x.sources if s is not None)
    y = emit_function(e, estimator.func, estimator.kw_args, x.value)
    frame = Frame.computed(y, strays=x.strays or estimator.func.__name__ in STRAYING)
    return Results({"transform": y}, frame=frame)


@inverse("FunctionTransformer")
def function_transformer_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    return emit_function(e, estimator.inverse_func, estimator.inv_kw_args, z)


def _part(e: Emitter, name: str, label: str, step: Any, x: Frame) -> Frame:
    if _is_nothing(step):
        return x
    with e.within(name, label), e.within(class_name(step)):
        return frame_of(e, step, translate(e, step, x))


def _weighted(e: Emitter, part: Frame, weight: float | None) -> Frame:
    if weight is None:
        return part
    e.numeric.update(s for s in part.sources if s is not None)
    return replace(Frame.computed(e.emit("mul", part.value, float(weight))), strays=part.strays)


def _beside(e: Emitter, frames: list[Frame]) -> Results:
    if not frames:
        raise e.unsupported("it keeps no column")
    value = e.joined([f.value for f in frames])
    sources = tuple(s for f in frames for s in f.sources)
    frame = Frame(value, sources, all(f.clean for f in frames), any(f.strays for f in frames))
    return Results({"transform": value}, frame=frame)


@translator("FeatureUnion")
def feature_union(e: Emitter, estimator: Any, x: Frame) -> Results:
    frames = []
    weights = estimator.transformer_weights or {}
    for index, (name, step) in enumerate(estimator.transformer_list):
        if isinstance(step, str) and step == "drop":
            continue
        part = _part(e, name, f"union{index}", step, x)
        frames.append(_weighted(e, part, weights.get(name)))
    return _beside(e, frames)


@translator("ColumnTransformer")
def column_transformer(e: Emitter, estimator: Any, x: Frame) -> Results:
    frames = []
    places, weights = estimator._transformer_to_input_indices, estimator.transformer_weights or {}
    for index, (name, step, _) in enumerate(estimator.transformers_):
        chosen = np.asarray(places[name], np.int64).reshape(-1)
        if (isinstance(step, str) and step == "drop") or not len(chosen):
            continue
        sources = tuple(x.sources[i] for i in chosen)
        part = Frame(e.columns(x.value, chosen), sources, x.clean, x.strays)
        frames.append(_weighted(e, _part(e, name, f"columns{index}", step, part), weights.get(name)))
    return _beside(e, frames)
