"""KMeans and MiniBatchKMeans of sklearn.cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ..emitter import Emitter
from ..registry import Frame, Results, family, translator

family(Kind.CLUSTERS, "KMeans", "MiniBatchKMeans")


@translator("KMeans", "MiniBatchKMeans")
def k_means(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Centres are compared by |c|^2 - 2 x c, as |x|^2 is the same for all."""
    centres = np.asarray(estimator.cluster_centers_, float)
    norms = np.einsum("ij,ij->i", centres, centres)
    products = e.times(x.value, -2.0 * centres)
    nearest = e.emit("add", products, norms)
    label = e.emit("arg_min", nearest, axis=1, keep_dimensions=False, output_data_type="int32")
    squares = e.emit("reduce_sum_square", x.value, axes=(1,), keep_dimensions=True)
    distance = e.emit("add", e.emit("add", products, squares), norms)
    return Results({"predict": label, "transform": e.emit("sqrt", e.emit("relu", distance))})
