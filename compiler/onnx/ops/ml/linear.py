"""LinearClassifier and LinearRegressor of ai.onnx.ml."""

from __future__ import annotations

import numpy as np

from ...node import NodeContext
from ...registry import ML, onnx_op
from ...tensor import Tensor
from .scores import above_zero, features, integer_labels, labels_at, score_pair, transform, transform_of


def _scores(n: NodeContext, x: Tensor, targets: int) -> Tensor:
    """``x @ coefficients.T + intercepts``, [rows, targets], in the data type of ``x``."""
    flat, added = n.attr("coefficients"), n.attr("intercepts", ()) or ()
    (columns,) = n.static(x.shape[1])
    if targets < 1 or len(flat) < targets * columns:
        raise n.error(f"attribute coefficients has {len(flat)} elements, expected {targets} for each feature")
    if len(added) not in (0, targets):
        raise n.error(f"attribute intercepts has {len(added)} elements, expected {targets}")
    # Coefficients beyond the features are passed over, as ONNX Runtime does.
    weights = np.asarray(flat[: targets * columns], np.float32).reshape(targets, columns).astype(x.dtype)
    scores = n.emit("matmul", x, n.constant(np.ascontiguousarray(weights.T)))
    return n.emit("add", scores, n.constant(np.asarray(added, np.float32).astype(x.dtype))) if added else scores


@onnx_op("LinearClassifier", 1, domain=ML)
def linear_classifier(n: NodeContext) -> tuple[Tensor, Tensor]:
    """One score for two labels stands for the second, which is taken where it is above 0."""
    x = features(n)
    labels = integer_labels(n, "classlabels_ints")
    (columns,) = n.static(x.shape[1])
    targets = len(n.attr("intercepts", None) or ()) or len(n.attr("coefficients")) // max(columns, 1)
    name = transform_of(n)
    scores = _scores(n, x, targets)
    if targets > 1:
        if labels and len(labels) != targets:
            raise n.error(f"{len(labels)} class labels are given, expected {targets}, one a score")
        places = n.emit("arg_max", scores, axis=1, keep_dimensions=False, output_data_type="int64")
        chosen = labels_at(n, labels or tuple(range(targets)), places)
        return chosen, n.cast(transform(n, name, scores), "float32")
    if len(labels) not in (0, 2):
        raise n.error(f"{len(labels)} class labels are given, expected two for one score")
    chosen = labels_at(n, labels or (0, 1), above_zero(n, scores))
    result = (
        score_pair(n, name, scores, n.emit("sub", n.scalar(1, scores), scores))
        if labels
        else transform(n, name, scores)
    )
    return chosen, n.cast(result, "float32")


@onnx_op("LinearRegressor", 1, domain=ML)
def linear_regressor(n: NodeContext) -> Tensor:
    scores = _scores(n, features(n), int(n.attr("targets", 1)))
    return n.cast(transform(n, transform_of(n), scores), "float32")
