"""Scalers, Normalizer and PolynomialFeatures of sklearn.preprocessing."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, inverse, translator

family(Kind.SCALER, "StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer")
family(Kind.FEATURE_EXPANSION, "PolynomialFeatures")


def _sum_and_factor(estimator: Any) -> tuple[Any, Any]:
    """What a StandardScaler or RobustScaler subtracts and divides by; None for what it leaves out."""
    if type(estimator).__name__ == "StandardScaler":
        return (estimator.mean_ if estimator.with_mean else None, estimator.scale_ if estimator.with_std else None)
    return (
        estimator.center_ if estimator.with_centering else None,
        estimator.scale_ if estimator.with_scaling else None,
    )


@translator("StandardScaler", "RobustScaler")
def standard_scaler(e: Emitter, estimator: Any, x: Frame) -> Results:
    centre, scale = _sum_and_factor(estimator)
    y = x.value if centre is None else e.emit("sub", x.value, np.asarray(centre, float))
    return Results({"transform": y if scale is None else e.emit("div", y, np.asarray(scale, float))})


@inverse("StandardScaler", "RobustScaler")
def standard_scaler_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    centre, scale = _sum_and_factor(estimator)
    y = z if scale is None else e.emit("mul", z, np.asarray(scale, float))
    return y if centre is None else e.emit("add", y, np.asarray(centre, float))


@translator("MinMaxScaler")
def min_max_scaler(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = e.emit("add", e.emit("mul", x.value, estimator.scale_), estimator.min_)
    if estimator.clip:
        low, high = estimator.feature_range
        y = e.emit("clamp", y, min_value=float(low), max_value=float(high))
    return Results({"transform": y})


@inverse("MinMaxScaler")
def min_max_scaler_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    return e.emit("div", e.emit("sub", z, estimator.min_), estimator.scale_)


@translator("MaxAbsScaler")
def max_abs_scaler(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = e.emit("div", x.value, estimator.scale_)
    if getattr(estimator, "clip", False):
        y = e.emit("clamp", y, min_value=-1.0, max_value=1.0)
    return Results({"transform": y})


@inverse("MaxAbsScaler")
def max_abs_scaler_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    return e.emit("mul", z, estimator.scale_)


@translator("Normalizer")
def normalizer(e: Emitter, estimator: Any, x: Frame) -> Results:
    """A row that is zero but for ten roundings stays as it is."""
    if estimator.norm == "max":
        norm = e.emit("reduce_max", e.emit("abs", x.value), axes=(1,), keep_dimensions=True)
    else:
        norm = e.emit(f"reduce_{estimator.norm}", x.value, axes=(1,), keep_dimensions=True)
    norm = e.choose(e.emit("lesser", norm, 10 * float(np.finfo(e.dtype).eps)), 1.0, norm)
    return Results({"transform": e.emit("div", x.value, norm)})


@translator("PolynomialFeatures")
def polynomial_features(e: Emitter, estimator: Any, x: Frame) -> Results:
    """The products are formed from the last factor on, as scikit-learn forms them."""
    degrees: Any = estimator.degree
    low, high = degrees if isinstance(degrees, tuple) else (0, degrees)
    choose = combinations if estimator.interaction_only else combinations_with_replacement
    parts: list[Value] = []
    if estimator.include_bias:
        ones = e.emit("slice", x.value, starts=(0, 0), sizes=(e.rows, 1))
        parts.append(e.choose(e.emit("equal", ones, ones), e.constant(np.ones((1, 1))), e.constant(np.ones((1, 1)))))
    for degree in range(max(low, 1), high + 1):
        places = np.array(list(choose(range(x.width), degree)), np.int64).reshape(-1, degree)
        if not len(places):
            continue
        product = e.columns(x.value, places[:, -1])
        for factor in range(degree - 2, -1, -1):
            product = e.emit("mul", product, e.columns(x.value, places[:, factor]))
        parts.append(product)
    if not parts:
        raise e.unsupported(f"degree is {estimator.degree!r}, which leaves no features")
    return Results({"transform": e.joined(parts)})
