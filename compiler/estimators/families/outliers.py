"""IsolationForest of sklearn.ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .flat_trees import FlatTrees

family(Kind.FOREST, "IsolationForest")

_EULER = 0.5772156649015329


def _path_length(samples: int) -> float:
    """The mean length of a path in a tree of that many samples (Liu, Ting and Zhou, "Isolation Forest", 2008)."""
    if samples <= 2:
        return float(samples == 2)
    return float(2 * (np.log(samples - 1.0) + _EULER) - 2 * (samples - 1.0) / samples)


@translator("IsolationForest")
def isolation_forest(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Trees give the depths of rows, which are compared in float32; a leaf counts what it would be split to."""
    flat = FlatTrees()
    lengths = zip(estimator._decision_path_lengths, estimator._average_path_length_per_tree)
    for grown, features, (paths, more) in zip(estimator.estimators_, estimator.estimators_features_, lengths):
        tree = grown.tree_
        left = tree.children_left
        depths = (np.asarray(paths) + np.asarray(more) - 1.0)[:, None]
        places = np.asarray(features, np.int64)[np.maximum(tree.feature, 0)]
        missing = getattr(tree, "missing_go_to_left", np.zeros(len(left), np.uint8))
        flat.add(left, tree.children_right, left < 0, places, tree.threshold, missing, depths)
    depth = e.flat(flat.emit(e, x.value, 1, in_float32=True))
    longest = len(estimator.estimators_) * _path_length(int(estimator._max_samples))
    exponent = e.emit("mul", depth, -1 / longest) if longest else e.emit("sub", e.emit("mul", depth, 0.0), 1.0)
    score = e.emit("neg", e.emit("pow", e.number(2.0, exponent), exponent))
    decision = e.emit("sub", score, float(estimator.offset_))
    outlier = e.emit("lesser", decision, 0.0)
    inlier = e.emit("where", outlier, e.constant(np.array(-1)), e.constant(np.array(1)))
    return Results({"predict": inlier, "decision_function": decision, "score_samples": score})
