"""PCA and TruncatedSVD of sklearn.decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, inverse, translator

family(Kind.DECOMPOSITION, "PCA", "TruncatedSVD")


def _whitening(estimator: Any) -> np.ndarray | None:
    if not estimator.whiten:
        return None
    scale = np.sqrt(np.asarray(estimator.explained_variance_))
    return np.maximum(scale, np.finfo(scale.dtype).eps)


@translator("PCA")
def pca(e: Emitter, estimator: Any, x: Frame) -> Results:
    centred = e.emit("sub", x.value, np.asarray(estimator.mean_))
    y = e.times(centred, estimator.components_)
    scale = _whitening(estimator)
    if scale is not None:
        y = e.emit("div", y, scale)
    return Results({"transform": y, "score_samples": _log_likelihood(e, estimator, centred)})


def _log_likelihood(e: Emitter, estimator: Any, centred: Value) -> Value:
    """The Gaussian log density of each row (probabilistic PCA, Bishop 12.2.1)."""
    precision = np.asarray(estimator.get_precision())
    constant = precision.shape[0] * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1]
    squares = e.sum_columns(e.emit("mul", centred, e.times(centred, precision.T)))
    return e.emit("mul", e.emit("add", squares, float(constant)), -0.5)


@inverse("PCA")
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
