"""QuantileTransformer, PowerTransformer, KBinsDiscretizer and Binarizer of sklearn.preprocessing."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, inverse, translator
from .interpolation import interpolated, place_in
from .normal import normal_quantile

family(Kind.SCALER, "QuantileTransformer", "PowerTransformer")
family(Kind.ENCODER, "KBinsDiscretizer", "Binarizer")

_BOUND = 1e-7
"""scikit-learn's distance from 0 and 1 within which normal quantiles are cut off."""


@translator("QuantileTransformer")
def quantile_transformer(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Of quantiles that repeat, the mean of the first and the last one's place."""
    quantiles, references = np.asarray(estimator.quantiles_, float), np.asarray(estimator.references_, float)
    upper = interpolated(e, x.value, quantiles, references)
    lower = interpolated(e, e.emit("neg", x.value), -quantiles[::-1], -references[::-1])
    share = e.emit("mul", e.emit("sub", upper, lower), 0.5)
    is_normal = estimator.output_distribution == "normal"
    first, last = e.constant(quantiles[:1]), e.constant(quantiles[-1:])
    if is_normal:
        above = e.emit("greater", e.emit("add", x.value, _BOUND), last)
        below = e.emit("lesser", e.emit("sub", x.value, _BOUND), first)
    else:
        above, below = e.emit("greater_or_equal", x.value, last), e.emit("lesser_or_equal", x.value, first)
    # Of a single row, there is one reference, which is 0.
    share = e.choose(below, 0.0, e.choose(above, 1.0 if is_normal else float(references[-1]), share))
    if is_normal:
        edge = _BOUND - np.spacing(1)
        share = normal_quantile(e, e.emit("clamp", share, min_value=float(edge), max_value=float(1 - edge)))
    share = e.choose(e.emit("is_nan", x.value), x.value, share)
    return Results({"transform": share})


@inverse("QuantileTransformer")
def quantile_transformer_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    quantiles, references = np.asarray(estimator.quantiles_, float), np.asarray(estimator.references_, float)
    if estimator.output_distribution == "normal":
        half = e.emit("mul", e.emit("erf", e.emit("mul", z, float(np.sqrt(0.5)))), 0.5)
        share = e.emit("add", half, 0.5)
    else:
        share = z
    found = interpolated(e, share, references, quantiles)
    if estimator.output_distribution == "normal":
        above = e.emit("greater", e.emit("add", share, _BOUND), 1.0)
        below = e.emit("lesser", e.emit("sub", share, _BOUND), 0.0)
        found = e.choose(above, e.constant(quantiles[-1:]), found)
        found = e.choose(below, e.constant(quantiles[:1]), found)
    return e.choose(e.emit("is_nan", z), z, found)


@translator("PowerTransformer")
def power_transformer(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Yeo and Johnson, "A new family of power transformations to improve normality or symmetry" (2000)."""
    lambdas = np.asarray(estimator.lambdas_, float)
    if estimator.method == "box-cox":
        y = _powers(e, e.emit("log", x.value), lambdas)
    else:
        log = e.emit("log1p", e.emit("abs", x.value))
        upper, lower = _powers(e, log, lambdas), e.emit("neg", _powers(e, log, 2 - lambdas))
        y = e.choose(e.emit("greater_or_equal", x.value, 0.0), upper, lower)
        y = e.choose(e.emit("is_nan", x.value), x.value, y)
    if estimator.standardize:
        scaler = estimator._scaler
        y = e.emit("div", e.emit("sub", y, np.asarray(scaler.mean_)), np.asarray(scaler.scale_))
    return Results({"transform": y}, frame=Frame.computed(y, x.strays or estimator.method == "box-cox"))


def _powers(e: Emitter, log: Value, exponents: np.ndarray) -> Value:
    """``(v**p - 1) / p`` for each column's p from the logarithms of v; the logarithm itself where p is 0."""
    zero = np.abs(exponents) < np.spacing(1.0)
    held = np.where(zero, 1.0, exponents)
    power = e.emit("div", e.emit("expm1", e.emit("mul", log, held)), held)
    return power if not zero.any() else e.choose(e.constant(zero[None].astype(np.uint8)), log, power)


@inverse("PowerTransformer")
def power_transformer_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    lambdas = np.asarray(estimator.lambdas_, float)
    if estimator.standardize:
        scaler = estimator._scaler
        z = e.emit("add", e.emit("mul", z, np.asarray(scaler.scale_)), np.asarray(scaler.mean_))
    if estimator.method == "box-cox":
        return e.emit("exp", _logs(e, z, lambdas))
    size = e.emit("abs", z)
    upper = e.emit("expm1", _logs(e, size, lambdas))
    lower = e.emit("neg", e.emit("expm1", _logs(e, size, 2 - lambdas)))
    return e.choose(e.emit("greater_or_equal", z, 0.0), upper, lower)


def _logs(e: Emitter, powers: Value, exponents: np.ndarray) -> Value:
    """The inverse of ``_powers``."""
    zero = np.abs(exponents) < np.spacing(1.0)
    held = np.where(zero, 1.0, exponents)
    log = e.emit("div", e.emit("log1p", e.emit("mul", powers, held)), held)
    return log if not zero.any() else e.choose(e.constant(zero[None].astype(np.uint8)), powers, log)


@translator("KBinsDiscretizer")
def k_bins_discretizer(e: Emitter, estimator: Any, x: Frame) -> Results:
    inner = [np.asarray(edges, float)[1:-1] for edges in estimator.bin_edges_]
    knots = np.full((max(1, *(len(edges) for edges in inner)), x.width), np.inf)
    for place, edges in enumerate(inner):
        knots[: len(edges), place] = edges
    bins = place_in(e, x.value, knots)
    dtype = e.dtype if estimator.dtype in (None, np.float64) else np.dtype(estimator.dtype).name
    if estimator.encode == "ordinal":
        value = e.cast(bins, dtype)
    else:
        sizes = [int(n) for n in estimator.n_bins_]
        spread = e.emit("gather", bins, e.constant(np.repeat(np.arange(x.width), sizes)), axis=1)
        numbers = np.concatenate([np.arange(n) for n in sizes]).astype(np.int32)
        value = e.cast(e.emit("equal", spread, e.constant(numbers[None])), dtype)
    return Results({"transform": value}, frame=Frame.computed(e.cast(value, e.dtype)))


@translator("Binarizer")
def binarizer(e: Emitter, estimator: Any, x: Frame) -> Results:
    return Results({"transform": e.cast(e.emit("greater", x.value, float(estimator.threshold)), e.dtype)})
