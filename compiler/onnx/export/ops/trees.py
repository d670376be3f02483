"""Ensembles of trees as ai.onnx.ml's TreeEnsembleRegressor."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from basalt.ops.dims import MAX_DIMENSION
from basalt.ops.extension.trees import MEMBER, Trees, check_trees
from basalt.serialization.onnx import OnnxTensor

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor
from .trees_float64 import tree_ensemble_float64

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_LEAF = "LEAF"
_MOST_NODES = 1 << 20
"""Nodes that sets of members may be unfolded to."""


@exports("tree_ensemble")
def tree_ensemble(n: NodeWriter) -> Tensor:
    """Nodes of sets become chains of comparisons, each with a copy of what follows for members.

    TreeEnsembleRegressor gives float32; version 5 of its domain, which takes it back, has an operator for float64.
    """
    trees = _trees(n)
    features = n.type("input").shape[1]
    check_trees(trees, features if isinstance(features, int) else MAX_DIMENSION, n.attrs["targets"])
    if n.out[0].dtype == "float64":
        return tree_ensemble_float64(n, trees)
    n.writer.use_domain("ai.onnx.ml", 3)
    table = _Table(trees)
    if table.is_too_large:
        n.unsupported(f"an ensemble of trees of more than {_MOST_NODES} nodes once its sets are unfolded")
    base = n.get("base")
    dtype = n["input"].dtype
    return n.call(
        "TreeEnsembleRegressor",
        n["input"],
        domain="ai.onnx.ml",
        dtype="float32",
        n_targets=n.attrs["targets"],
        aggregate_function=n.attrs["aggregate"].upper(),
        **table.attributes(dtype),
        **_numbers("base_values", [] if base is None or base.array is None else base.array.tolist(), dtype),
    )


def _trees(n: NodeWriter) -> Trees:
    arrays: dict[str, np.ndarray | None] = {}
    for name in n.operands:
        given = n.get(name)
        if given is not None and given.array is None and name != "input":
            n.unsupported(f"trees whose {name} is no constant")
        arrays[name] = None if given is None else given.array
    return Trees.of(SimpleNamespace(**arrays))


class _Table:
    """ONNX's columns: one entry a node, leaves included, and one a weight."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self.nodes: list[tuple[int, int, int, float, str, int, int, int]] = []
        self.weights: list[tuple[int, int, int, float]] = []
        self.is_too_large = False
        for tree, root in enumerate(trees.roots):
            self._add_tree(tree, int(root))

    def _add_tree(self, tree: int, root: int) -> None:
        """Nodes numbered as they are found; a place is a node or leaf, and how many members of its set are done."""
        numbers, waiting = iter(range(1, _MOST_NODES)), [(root, 0, 0)]
        while waiting:
            place, done, number = waiting.pop()
            if len(self.nodes) >= _MOST_NODES:
                self.is_too_large = True
                return
            if place < 0:
                self.nodes.append((tree, number, 0, 0.0, _LEAF, 0, 0, 0))
                self.weights += [(tree, number, target, weight) for target, weight in self._weights(-1 - place)]
                continue
            threshold, mode, other = self._test(place, done)
            true, false = next(numbers), next(numbers)
            waiting += [(other[0], other[1], false), (int(self._trees.true_child[place]), 0, true)]
            feature, missing = int(self._trees.feature[place]), int(self._trees.missing_true[place])
            self.nodes.append((tree, number, feature, threshold, mode, true, false, missing))

    def _test(self, place: int, done: int) -> tuple[float, str, tuple[int, int]]:
        """What a node compares with, how, and where it goes on if that does not hold."""
        trees = self._trees
        away = (int(trees.false_child[place]), 0)
        if trees.mode[place] != MEMBER:
            return float(trees.threshold[place]), _MODES[int(trees.mode[place])], away
        members = trees.members_of(place)
        if not len(members):
            return float("nan"), "BRANCH_EQ", away
        return float(members[done]), "BRANCH_EQ", (place, done + 1) if done + 1 < len(members) else away

    def _weights(self, leaf: int) -> Iterator[tuple[int, float]]:
        for k in range(int(self._trees.leaf_first[leaf]), int(self._trees.leaf_first[leaf + 1])):
            yield int(self._trees.leaf_target[k]), float(self._trees.leaf_weight[k])

    def attributes(self, dtype: str) -> dict[str, Any]:
        """The operator's attributes for input of a data type."""
        tree, node, feature, threshold, mode, true, false, missing = zip(*self.nodes)
        weight_tree, weight_node, target, weight = zip(*self.weights) if self.weights else ((), (), (), ())
        return {
            "nodes_treeids": tree,
            "nodes_nodeids": node,
            "nodes_featureids": feature,
            "nodes_modes": mode,
            "nodes_truenodeids": true,
            "nodes_falsenodeids": false,
            "nodes_missing_value_tracks_true": missing,
            "target_treeids": weight_tree,
            "target_nodeids": weight_node,
            "target_ids": target,
            **_numbers("nodes_values", threshold, dtype),
            **_numbers("target_weights", weight, dtype),
        }


def _numbers(name: str, values: Any, dtype: str) -> dict[str, Any]:
    """Floats as an attribute; as a tensor where they are float64."""
    if not len(values):
        return {}
    if dtype == "float64":
        tensor = OnnxTensor.from_array(f"{name}_as_tensor", np.asarray(values, np.float64))
        return {f"{name}_as_tensor": tensor}
    return {name: tuple(float(v) for v in values)}
