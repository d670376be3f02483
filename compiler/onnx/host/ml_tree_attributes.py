"""The trees that the attributes of TreeEnsembleClassifier and TreeEnsembleRegressor (versions 1, 3, 5) describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from basalt.compiler.onnx.host.element_types import type_name
from basalt.compiler.onnx.host.ml_trees import LEAF, MODES, Trees
from basalt.compiler.onnx.host.registry import HostNode

__all__ = ["Ensemble", "flat", "numbers", "read_ensemble"]


@dataclass(frozen=True)
class Ensemble:
    """Trees, and for each of their nodes the weights of all targets [nodes, targets] and which of them it votes on."""

    trees: Trees
    weights: np.ndarray
    votes: np.ndarray

    def scores(self, n: HostNode, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Weights and votes [N, targets] of each tree."""
        self.trees.check(n, x.shape[1])
        leaves = [self.trees.leaf(n, int(root), x) for root in self.trees.roots]
        return [self.weights[at] for at in leaves], [self.votes[at] for at in leaves]


def flat(n: HostNode, name: str, dtype: DTypeLike) -> np.ndarray:
    """The elements of a required attribute that is a tensor of numbers, as a vector of ``dtype``."""
    given = np.asarray(n.required(name))
    if given.dtype.kind in "OUc":
        raise n.error(f"attribute {name!r} is of type {type_name(given.dtype)}, expected real numbers")
    return given.reshape(-1).astype(dtype)


def numbers(n: HostNode, name: str, dtype: np.dtype) -> np.ndarray | None:
    """A list of floats from the attribute or, from version 3, from the tensor ``<name>_as_tensor``; None without."""
    tensor = n.attr(f"{name}_as_tensor")
    if tensor is not None and np.asarray(tensor).size:
        return flat(n, f"{name}_as_tensor", dtype)
    return None if n.attr(name) is None else flat(n, name, dtype)


def _column(n: HostNode, name: str, count: int, default: Any = None) -> np.ndarray:
    given = n.attr(name)
    if given is None or (not len(given) and default is not None):
        if default is None:
            raise n.error(f"attribute {name!r} is missing")
        return np.full(count, default)
    if len(given) != count:
        raise n.error(f"attribute {name!r} has {len(given)} elements, expected {count}")
    return np.asarray(given)


def _modes(n: HostNode, count: int) -> np.ndarray:
    names = {name: place for place, name in enumerate(MODES)} | {"LEAF": LEAF}
    given = _column(n, "nodes_modes", count).tolist()
    unknown = [mode for mode in given if mode not in names]
    if unknown:
        raise n.error(f"attribute 'nodes_modes' holds {unknown[0]!r}, expected one of {', '.join(names)}")
    return np.array([names[mode] for mode in given], dtype=np.int64)


def _trees(n: HostNode) -> tuple[Trees, dict[tuple[int, int], int]]:
    """The trees, and the place of each (tree, node) id."""
    tree_ids = [int(t) for t in n.required("nodes_treeids")]
    count = len(tree_ids)
    node_ids = _column(n, "nodes_nodeids", count).tolist()
    places = {key: place for place, key in enumerate(zip(tree_ids, node_ids, strict=True))}
    if len(places) != count or not count:
        raise n.error("the attributes nodes_treeids and nodes_nodeids name a node twice, or none at all")
    modes = _modes(n, count)
    values = numbers(n, "nodes_values", np.dtype(np.float64))
    if values is None or len(values) != count:
        raise n.error(f"attribute 'nodes_values' does not have {count} elements")
    branches = {}
    for name in ("nodes_truenodeids", "nodes_falsenodeids"):
        ids = _column(n, name, count).tolist()
        # What a leaf's branches hold is never followed; -1 is refused where it is.
        branches[name] = np.array([places.get((t, i), -1) for t, i in zip(tree_ids, ids, strict=True)], dtype=np.int64)
    firsts: dict[int, int] = {}
    for place, tree in enumerate(tree_ids):
        firsts.setdefault(tree, place)
    return (
        Trees(
            roots=np.array([firsts[tree] for tree in sorted(firsts)], dtype=np.int64),
            modes=modes,
            features=_column(n, "nodes_featureids", count).astype(np.int64),
            values=values,
            true_nodes=branches["nodes_truenodeids"],
            false_nodes=branches["nodes_falsenodeids"],
            missing_true=_column(n, "nodes_missing_value_tracks_true", count, 0).astype(np.bool_),
            members={},
        ),
        places,
    )


def read_ensemble(n: HostNode, prefix: str, targets: int, dtype: np.dtype) -> Ensemble:
    """The ensemble whose leaves have the weights that the attributes ``<prefix>_*`` list by tree, node and target."""
    trees, places = _trees(n)
    weights = numbers(n, f"{prefix}_weights", dtype)
    if weights is None:
        raise n.error(f"attribute '{prefix}_weights' is missing")
    count = len(weights)
    keys = zip(*(_column(n, f"{prefix}_{part}", count).tolist() for part in ("treeids", "nodeids")), strict=True)
    nodes = np.array([places.get(key, -1) for key in keys], dtype=np.int64)
    ids = _column(n, f"{prefix}_ids", count).astype(np.int64)
    if count and (nodes.min() < 0 or ids.min() < 0 or ids.max() >= targets):
        raise n.error(f"a weight is for a node that does not exist, or for another target than 0 to {targets - 1}")
    table = np.zeros((len(trees.modes), targets), dtype=dtype)
    np.add.at(table, (nodes, ids), weights)
    votes = np.zeros(table.shape, dtype=np.bool_)
    votes[nodes, ids] = True
    return Ensemble(trees, table, votes)
