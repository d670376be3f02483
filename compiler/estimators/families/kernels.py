"""Kernels, and the models of sklearn.kernel_ridge, sklearn.kernel_approximation and KernelPCA over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, family, translator

__all__ = ["kernel"]

family(Kind.KERNEL_MACHINE, "KernelRidge")
family(Kind.FEATURE_EXPANSION, "Nystroem", "RBFSampler")
family(Kind.DECOMPOSITION, "KernelPCA")


def kernel(
    e: Emitter, kind: Any, x: Value, vectors: np.ndarray, *, gamma: float, offset: float, degree: float
) -> Value:
    """The kernel of each row with each vector: [rows, vectors].

    Raises UnsupportedError for another kernel than linear, poly (polynomial), rbf and sigmoid.
    """
    if not isinstance(kind, str) or kind not in ("linear", "poly", "polynomial", "rbf", "sigmoid"):
        raise e.unsupported(f"kernel is {kind!r}, expected 'linear', 'poly', 'rbf' or 'sigmoid'")
    if kind == "rbf":
        return _gaussian(e, x, vectors, gamma)
    products = e.times(x, vectors)
    if kind == "linear":
        return products
    scaled = e.emit("add", e.emit("mul", products, gamma), offset)
    if kind == "sigmoid":
        return e.emit("tanh", scaled)
    return _power(e, scaled, int(degree)) if degree == int(degree) else e.emit("pow", scaled, float(degree))


def _gaussian(e: Emitter, x: Value, vectors: np.ndarray, gamma: float) -> Value:
    """By |x|^2 + |v|^2 - 2 x v about the mean of the vectors.

    There its rounding is relative to the vectors' spread, by which useful values of gamma are scaled; for a row far
    away it is relative to the distance, and the kernel vanishes.
    """
    centre = vectors.mean(axis=0)
    moved = vectors - centre
    rows = e.emit("sub", x, centre)
    squares = e.emit("reduce_sum_square", rows, axes=(1,), keep_dimensions=True)
    products = e.emit("add", e.times(rows, -2.0 * moved), np.einsum("ij,ij->i", moved, moved))
    distance = e.emit("relu", e.emit("add", products, squares))
    return e.emit("exp", e.emit("mul", distance, -gamma))


def _power(e: Emitter, base: Value, degree: int) -> Value:
    if degree == 0:
        return e.emit("pow", base, 0.0)
    result, squared = None, base
    while degree:
        if degree % 2:
            result = squared if result is None else e.emit("mul", result, squared)
        degree //= 2
        squared = e.emit("mul", squared, squared) if degree else squared
    assert result is not None
    return result


def _pairwise(e: Emitter, estimator: Any, x: Frame, vectors: Any) -> Value:
    """The kernel that an estimator names, with scikit-learn's defaults for what is None."""
    held = np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors, float)
    gamma = getattr(estimator, "gamma_", estimator.gamma)
    degree = 3 if estimator.degree is None else estimator.degree
    offset = 1 if estimator.coef0 is None else estimator.coef0
    gamma = 1.0 / x.width if gamma is None else float(gamma)
    return kernel(e, estimator.kernel, x.value, held, gamma=gamma, offset=float(offset), degree=degree)


@translator("KernelRidge")
def kernel_ridge(e: Emitter, estimator: Any, x: Frame) -> Results:
    weights = np.asarray(estimator.dual_coef_)
    y = e.times(_pairwise(e, estimator, x, estimator.X_fit_), np.atleast_2d(weights.T))
    return Results({"predict": e.flat(y) if weights.ndim == 1 else y})


@translator("KernelPCA")
def kernel_pca(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Schoelkopf, Smola and Mueller, "Kernel principal component analysis" (1997)."""
    centerer, scales = estimator._centerer, np.asarray(estimator.eigenvalues_)
    found = _pairwise(e, estimator, x, estimator.X_fit_)
    mean = e.emit("reduce_mean", found, axes=(1,), keep_dimensions=True)
    moved = float(centerer.K_fit_all_) - np.asarray(centerer.K_fit_rows_)
    centred = e.emit("add", e.emit("sub", found, mean), moved)
    held = np.where(scales > 0, scales, 1)
    return Results(
        {"transform": e.times(centred, (np.asarray(estimator.eigenvectors_) * (scales > 0) / np.sqrt(held)).T)}
    )


@translator("Nystroem")
def nystroem(e: Emitter, estimator: Any, x: Frame) -> Results:
    if estimator.kernel_params:
        raise e.unsupported("kernel_params cannot be translated")
    found = _pairwise(e, estimator, x, estimator.components_)
    return Results({"transform": e.times(found, estimator.normalization_)})


@translator("RBFSampler")
def rbf_sampler(e: Emitter, estimator: Any, x: Frame) -> Results:
    weights, offset = np.asarray(estimator.random_weights_), np.asarray(estimator.random_offset_)
    wave = e.emit("cos", e.emit("add", e.times(x.value, weights.T), offset))
    return Results({"transform": e.emit("mul", wave, float(np.sqrt(2.0 / estimator.n_components)))})
