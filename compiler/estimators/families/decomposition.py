"""PCA, TruncatedSVD and other linear maps to fewer columns, of sklearn.decomposition and its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..folding import LIMITS
from ..registry import Frame, Results, family, inverse, translator

family(Kind.DECOMPOSITION, "PCA", "IncrementalPCA", "TruncatedSVD", "FastICA", "FactorAnalysis")
family(Kind.DECOMPOSITION, "GaussianRandomProjection", "SparseRandomProjection", "PLSRegression")


def _whitening(estimator: Any) -> np.ndarray | None:
    if not estimator.whiten:
        return None
    scale = np.sqrt(np.asarray(estimator.explained_variance_))
    return np.maximum(scale, np.finfo(scale.dtype).eps)


@translator("PCA")
def pca(e: Emitter, estimator: Any, x: Frame) -> Results:
    mean = np.asarray(estimator.mean_)
    centred = e.emit("sub", x.value, mean)
    spread = np.sqrt(np.diag(estimator.get_covariance()))
    if (np.abs(mean) <= LIMITS[e.dtype] * spread).all():
        moved = np.asarray(estimator.components_) @ -mean
        y = e.times(x.value, estimator.components_)
        y = e.emit("add", y, moved) if moved.any() else y
    else:
        y = e.times(centred, estimator.components_)
    scale = _whitening(estimator)
    if scale is not None:
        y = e.emit("div", y, scale)
    try:
        precision = np.asarray(estimator.get_precision())
    except (np.linalg.LinAlgError, ValueError):
        # A covariance that is singular has no density, and scikit-learn's score_samples raises.
        return Results({"transform": y})
    return Results({"transform": y, "score_samples": _log_likelihood(e, precision, centred)})


def _log_likelihood(e: Emitter, precision: np.ndarray, centred: Value) -> Value:
    """The Gaussian log density of each row (probabilistic PCA, Bishop 12.2.1)."""
    constant = precision.shape[0] * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1]
    squares = e.sum_columns(e.emit("mul", centred, e.times(centred, precision.T)))
    return e.emit("mul", e.emit("add", squares, float(constant)), -0.5)


@translator("IncrementalPCA")
def incremental_pca(e: Emitter, estimator: Any, x: Frame) -> Results:
    y = e.times(e.emit("sub", x.value, np.asarray(estimator.mean_)), estimator.components_)
    scale = _whitening(estimator)
    return Results({"transform": y if scale is None else e.emit("div", y, scale)})


@translator("FastICA")
def fast_ica(e: Emitter, estimator: Any, x: Frame) -> Results:
    rows = e.emit("sub", x.value, np.asarray(estimator.mean_)) if estimator.whiten else x.value
    return Results({"transform": e.times(rows, estimator.components_)})


@inverse("FastICA")
def fast_ica_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    y = e.times(z, np.asarray(estimator.mixing_))
    return e.emit("add", y, np.asarray(estimator.mean_)) if estimator.whiten else y


@translator("FactorAnalysis")
def factor_analysis(e: Emitter, estimator: Any, x: Frame) -> Results:
    """The means of the factors given the rows (Barber, Bayesian Reasoning and Machine Learning, 21.2.33)."""
    centred = e.emit("sub", x.value, np.asarray(estimator.mean_))
    scaled = np.asarray(estimator.components_) / np.asarray(estimator.noise_variance_)
    covariance = np.linalg.inv(np.eye(len(scaled)) + scaled @ np.asarray(estimator.components_).T)
    density = _log_likelihood(e, np.asarray(estimator.get_precision()), centred)
    return Results({"transform": e.times(centred, covariance @ scaled), "score_samples": density})


@translator("GaussianRandomProjection", "SparseRandomProjection")
def random_projection(e: Emitter, estimator: Any, x: Frame) -> Results:
    components = estimator.components_
    dense = components.toarray() if hasattr(components, "toarray") else np.asarray(components)
    return Results({"transform": e.times(x.value, dense)})


@inverse("PCA", "IncrementalPCA")
def pca_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    scale = _whitening(estimator)
    components = np.asarray(estimator.components_)
    weights = components if scale is None else scale[:, None] * components
    return e.emit("add", e.times(z, weights.T), np.asarray(estimator.mean_))


@translator("TruncatedSVD")
def truncated_svd(e: Emitter, estimator: Any, x: Frame) -> Results:
    return Results({"transform": e.times(x.value, estimator.components_)})


@inverse("TruncatedSVD")
def truncated_svd_inverse(e: Emitter, estimator: Any, z: Value) -> Value:
    return e.times(z, np.asarray(estimator.components_).T)


@translator("PLSRegression")
def pls_regression(e: Emitter, estimator: Any, x: Frame) -> Results:
    centred = e.emit("sub", x.value, np.asarray(estimator._x_mean))
    y = e.emit("add", e.times(centred, np.asarray(estimator.coef_)), np.asarray(estimator.intercept_))
    scaled = e.emit("div", centred, np.asarray(estimator._x_std))
    rotated = e.times(scaled, np.asarray(estimator.x_rotations_).T)
    return Results({"predict": e.flat(y) if estimator._predict_1d else y, "transform": rotated})
