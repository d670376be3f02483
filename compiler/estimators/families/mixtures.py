"""GaussianMixture and BayesianGaussianMixture of sklearn.mixture."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ..emitter import Emitter
from ..registry import Frame, Results, class_name, family, translator
from .gaussians import log_densities

family(Kind.MIXTURE, "GaussianMixture", "BayesianGaussianMixture")


def _factors(estimator: Any, features: int) -> list[np.ndarray]:
    """The Cholesky factor of each component's precision, [features, features]."""
    given = np.asarray(estimator.precisions_cholesky_, float)
    components = len(estimator.means_)
    kind = estimator.covariance_type
    if kind == "full":
        return list(given)
    if kind == "tied":
        return [given] * components
    return [np.diag(row) if kind == "diag" else row * np.eye(features) for row in given]


def _constants(estimator: Any, factors: list[np.ndarray]) -> np.ndarray:
    """What is added to the quadratic form of each component: its weight and the Gaussian's normalisation."""
    features = factors[0].shape[0]
    logs = np.array([np.sum(np.log(np.diag(f))) for f in factors])
    found = logs - 0.5 * features * np.log(2 * np.pi) + np.asarray(estimator._estimate_log_weights())
    if class_name(estimator) == "GaussianMixture":
        return found
    # What scikit-learn adds beside the density, which is found by asking it about each component's own mean.
    whole = np.asarray(estimator._estimate_log_prob(np.asarray(estimator.means_, float)))
    own = np.diagonal(whole) - (logs - 0.5 * features * np.log(2 * np.pi))
    return found + own


@translator("GaussianMixture", "BayesianGaussianMixture")
def gaussian_mixture(e: Emitter, estimator: Any, x: Frame) -> Results:
    factors = _factors(estimator, x.width)
    joint = log_densities(e, x.value, estimator.means_, factors, _constants(estimator, factors))
    total = e.emit("reduce_log_sum_exp", joint, axes=(1,), keep_dimensions=True)
    label = e.emit("arg_max", joint, axis=1, keep_dimensions=False, output_data_type="int64")
    share = e.emit("exp", e.emit("sub", joint, total))
    return Results({"predict": label, "predict_proba": share, "score_samples": e.flat(total)})
