"""Ensembles of trees with float64 weights as ai.onnx.ml 5's TreeEnsemble, whose leaves hold one weight each."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.ops.extension.trees import MEMBER, Trees
from basalt.serialization.onnx import OnnxTensor

from ..node import NodeWriter
from ..tensor import Tensor

__all__ = ["tree_ensemble_float64"]

_AGGREGATES = {"average": 0, "sum": 1, "min": 2, "max": 3}


def tree_ensemble_float64(n: NodeWriter, trees: Trees) -> Tensor:
    """The ensemble, without its base values."""
    if n.opset < 21:
        n.unsupported("an ensemble of trees with float64 weights, which ONNX has from opset 21 on")
    if (np.diff(trees.leaf_first) != 1).any():
        n.unsupported("an ensemble of trees with float64 weights whose leaves have other than one weight each")
    n.writer.use_domain("ai.onnx.ml", 5)
    result = n.call(
        "TreeEnsemble",
        n.cast(n["input"], "float64"),
        domain="ai.onnx.ml",
        n_targets=n.attrs["targets"],
        aggregate_function=_AGGREGATES[n.attrs["aggregate"]],
        post_transform=0,
        leaf_targetids=tuple(trees.leaf_target.tolist()),
        leaf_weights=OnnxTensor.from_array("leaf_weights", trees.leaf_weight.astype(np.float64)),
        **_nodes(trees),
    )
    base = n.get("base")
    return result if base is None else n.call("Add", result, base)


def _nodes(trees: Trees) -> dict[str, Any]:
    """The columns of nodes; a tree that is a leaf alone becomes a node both of whose ways lead there."""
    alone = [int(root) for root in trees.roots if root < 0]
    numbers = iter(range(len(trees.feature), len(trees.feature) + len(alone)))
    zeros = np.zeros(len(alone), np.int64)
    true, false = (np.concatenate([c, alone]).astype(np.int64) for c in (trees.true_child, trees.false_child))
    columns: dict[str, Any] = {
        "tree_roots": tuple(int(root) if root >= 0 else next(numbers) for root in trees.roots),
        "nodes_featureids": tuple(np.concatenate([trees.feature, zeros]).astype(int).tolist()),
        "nodes_missing_value_tracks_true": tuple(np.concatenate([trees.missing_true, zeros]).astype(int).tolist()),
        "nodes_splits": _tensor("nodes_splits", np.concatenate([trees.threshold, zeros]), np.float64),
        "nodes_modes": _tensor("nodes_modes", np.concatenate([trees.mode, zeros]), np.uint8),
    }
    for name, children in (("true", true), ("false", false)):
        columns[f"nodes_{name}nodeids"] = tuple(np.where(children < 0, -1 - children, children).tolist())
        columns[f"nodes_{name}leafs"] = tuple((children < 0).astype(int).tolist())
    sets = [[*trees.members_of(int(i)).tolist(), np.nan] for i in np.flatnonzero(trees.mode == MEMBER)]
    if sets:
        columns["membership_values"] = _tensor("membership_values", np.concatenate(sets), np.float64)
    return columns


def _tensor(name: str, values: np.ndarray, dtype: Any) -> OnnxTensor:
    return OnnxTensor.from_array(name, values.astype(dtype))
