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
    """Centres are compared by |c|^2 - 2 x c about their mean, as |x|^2 is the same for all.

    Far from zero the products of what is not moved there would cancel to no digit.
    """
    centres = np.asarray(estimator.cluster_centers_, float)
    mean = centres.mean(axis=0)
    moved = centres - mean
    norms = np.einsum("ij,ij->i", moved, moved)
    products = e.times(x.value, -2.0 * moved)
    nearest = e.emit("add", products, norms + 2.0 * moved @ mean)
    label = e.emit("arg_min", nearest, axis=1, keep_dimensions=False, output_data_type="int32")
    rows = e.emit("sub", x.value, mean)
    squares = e.emit("reduce_sum_square", rows, axes=(1,), keep_dimensions=True)
    distance = e.emit("add", e.emit("add", e.times(rows, -2.0 * moved), squares), norms)
    return Results({"predict": label, "transform": e.emit("sqrt", e.emit("relu", distance))})
