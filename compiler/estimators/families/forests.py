"""Decision trees and forests of sklearn.tree and sklearn.ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ..emitter import Emitter
from ..registry import Frame, Results, family, translator
from .flat_trees import FlatTrees, flatten
from .scores import add_log, class_of, several_targets

family(
    Kind.DECISION_TREE, "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"
)
family(Kind.FOREST, "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")

_TINY = np.finfo(float).tiny


def _trees(estimator: Any) -> list[Any]:
    members = getattr(estimator, "estimators_", None)
    return [m.tree_ for m in members] if members is not None else [estimator.tree_]


@translator("DecisionTreeRegressor", "ExtraTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor")
def tree_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Rows are compared in float32, as scikit-learn compares them."""
    flat = FlatTrees()
    for tree in _trees(estimator):
        flatten(flat, tree, tree.value[:, :, 0])
    y = flat.emit(e, x.value, estimator.n_outputs_, "average", in_float32=True)
    return Results({"predict": y if estimator.n_outputs_ > 1 else e.flat(y)})


@translator("DecisionTreeClassifier", "ExtraTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier")
def tree_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Probabilities are the mean of the trees' shares of classes in their leaves."""
    if estimator.n_outputs_ != 1:
        return _several_targets(e, estimator, x)
    flat = FlatTrees()
    for tree in _trees(estimator):
        shares = tree.value[:, 0, :]
        flatten(flat, tree, shares / np.maximum(shares.sum(axis=1, keepdims=True), _TINY))
    probability = flat.emit(e, x.value, len(estimator.classes_), "average", in_float32=True)
    values = {"predict": class_of(e, probability), "predict_proba": probability}
    return Results(add_log(e, values), classes=estimator.classes_)


def _several_targets(e: Emitter, estimator: Any, x: Frame) -> Results:
    """One ensemble gives the shares of the classes of every target, side by side."""
    sizes = [int(n) for n in estimator.n_classes_]
    flat = FlatTrees()
    for tree in _trees(estimator):
        shares = [tree.value[:, k, :size] for k, size in enumerate(sizes)]
        flatten(flat, tree, np.concatenate([s / np.maximum(s.sum(axis=1, keepdims=True), _TINY) for s in shares], 1))
    together = flat.emit(e, x.value, sum(sizes), "average", in_float32=True)
    return several_targets(e, e.split_columns(together, sizes), list(estimator.classes_))
