"""LinearClassifier and LinearRegressor of ai.onnx.ml."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import check_size
from basalt.compiler.onnx.host.ml_scores import (
    class_labels,
    features,
    label_tensor,
    score_pair,
    transform,
    transform_of,
)
from basalt.compiler.onnx.host.registry import ML, HostNode, host_op


def _scores(n: HostNode, x: np.ndarray, targets: int) -> np.ndarray:
    """``x @ coefficients.T + intercepts``, [N, targets]."""
    flat, added = n.attr("coefficients", ()), n.attr("intercepts", ())
    if targets < 1 or len(flat) < targets * x.shape[1]:
        raise n.error(f"attribute 'coefficients' has {len(flat)} elements, expected {targets} a feature of {x.shape}")
    if len(added) not in (0, targets):
        raise n.error(f"attribute 'intercepts' has {len(added)} elements, expected {targets}")
    # Coefficients beyond the features are passed over, as ONNX Runtime does.
    weights = np.asarray(flat[: targets * x.shape[1]], dtype=x.dtype).reshape(targets, x.shape[1])
    check_size(n, (len(x), targets))
    with np.errstate(all="ignore"):
        scores = x @ weights.T
        return scores + np.asarray(added, dtype=x.dtype) if added else scores


@host_op("LinearClassifier", 1, domain=ML)
def linear_classifier(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The label of the highest score a row of [N, F], and the scores [N, E], float32, after ``post_transform``.

    One score for two labels stands for the second, which is taken where it is above 0. The scores are then ``1 - s, s``
    or, with a transform, what :func:`score_pair` says.
    """
    x = features(n, x)
    labels = class_labels(n, "classlabels_ints")
    size = len(n.required("coefficients"))
    targets = len(n.attr("intercepts", ())) or size // max(x.shape[1], 1)
    scores, name = _scores(n, x, targets), transform_of(n)
    if targets > 1:
        if labels and len(labels) != targets:
            raise n.error(f"{len(labels)} class labels are given, expected {targets}, one a score")
        places = np.argmax(scores, axis=1)
        chosen = label_tensor(labels, places) if labels else places.astype(np.int64)
        return chosen, transform(name, scores).astype(np.float32)
    if len(labels) not in (0, 2):
        raise n.error(f"{len(labels)} class labels are given, expected two for one score")
    chosen = label_tensor(labels or (0, 1), (scores[:, 0] > 0).astype(np.int64))
    if not labels:
        return chosen, transform(name, scores).astype(np.float32)
    return chosen, score_pair(name, scores, 1 - scores).astype(np.float32)


@host_op("LinearRegressor", 1, domain=ML)
def linear_regressor(n: HostNode, x: np.ndarray) -> np.ndarray:
    """[N, targets], float32: products with the coefficients and intercepts, after ``post_transform``."""
    scores = _scores(n, features(n, x), int(n.attr("targets", 1)))
    return transform(transform_of(n), scores).astype(np.float32)
