"""TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble of ai.onnx.ml."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import check_size, tensor
from basalt.compiler.onnx.host.element_types import type_name
from basalt.compiler.onnx.host.ml_scores import class_labels, label_tensor, score_pair, transform, transform_of
from basalt.compiler.onnx.host.ml_tree_attributes import Ensemble, flat, numbers, read_ensemble
from basalt.compiler.onnx.host.ml_trees import LEAF, MEMBER, Trees, aggregate
from basalt.compiler.onnx.host.registry import ML, HostNode, host_op

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


def _matrix(n: HostNode, x: np.ndarray) -> np.ndarray:
    x = np.atleast_2d(tensor(n, "X", x, (1, 2)))
    if x.dtype.kind not in "iuf":
        raise n.error(f"input 'X' is of type {type_name(x.dtype)}, expected numbers")
    return x.astype(np.float64)


def _work_type(n: HostNode, x: np.ndarray) -> np.dtype:
    """The type to add up in: float64 for an input or weights of that type, else float32."""
    tensors = [n.attr(f"{name}_as_tensor") for name in ("nodes_values", "class_weights", "target_weights")]
    double = np.asarray(x).dtype == np.float64 or any(
        t is not None and np.asarray(t).dtype == np.float64 for t in tensors
    )
    return np.dtype(np.float64 if double else np.float32)


def _base(n: HostNode, targets: int, dtype: np.dtype) -> np.ndarray | None:
    base = numbers(n, "base_values", dtype)
    if base is not None and len(base) not in (0, 1, targets):
        raise n.error(f"attribute 'base_values' has {len(base)} elements, expected {targets}")
    return base if base is not None and len(base) else None


@host_op("TreeEnsembleClassifier", 1, 3, 5, domain=ML)
def tree_ensemble_classifier(n: HostNode, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The label [N] of the highest score and the scores [N, E], float32, for rows [N, F].

    If all weights are for the first of two classes, their sum ``s`` decides between the two, as in ONNX Runtime: scores
    ``1 - s, s`` if no weight is negative, else ``-s, s``; with LOGISTIC the logistic of ``-s, s``.
    """
    labels = class_labels(n, "classlabels_int64s")
    if not labels:
        raise n.error("expected one of the attributes 'classlabels_strings' and 'classlabels_int64s'")
    matrix = _matrix(n, x)
    work, name = _work_type(n, x), transform_of(n)
    ensemble: Ensemble = n.once(f"ensemble {work}", lambda: read_ensemble(n, "class", len(labels), work))
    scores = aggregate(*ensemble.scores(n, matrix), "SUM")
    base = _base(n, len(labels), work)
    if base is not None:
        scores = scores + base
    if len(labels) != 2 or ensemble.votes[:, 1].any() or (base is not None and len(base) == 2):
        return label_tensor(labels, np.argmax(scores, axis=1)), transform(name, scores).astype(np.float32)
    single = scores[:, :1]
    other = -single if name == "LOGISTIC" or (ensemble.weights < 0).any() else 1 - single
    places = (single > other)[:, 0].astype(np.int64)
    return label_tensor(labels, places), score_pair(name, single, other).astype(np.float32)


@host_op("TreeEnsembleRegressor", 1, 3, 5, domain=ML)
def tree_ensemble_regressor(n: HostNode, x: np.ndarray) -> np.ndarray:
    """[N, n_targets], float32: the leaves' weights summed up, averaged over the trees, or their least or greatest.

    ``base_values`` come on top, then ``post_transform``.
    """
    how = n.attr("aggregate_function", "SUM")
    targets = int(n.attr("n_targets", 1))
    if how not in _AGGREGATES or targets < 1:
        raise n.error(
            f"aggregate_function is {how!r}, n_targets {targets}, expected {', '.join(_AGGREGATES)}, 1 or more"
        )
    matrix = _matrix(n, x)
    work = _work_type(n, x)
    ensemble: Ensemble = n.once(f"ensemble {work}", lambda: read_ensemble(n, "target", targets, work))
    scores = aggregate(*ensemble.scores(n, matrix), how)
    base = _base(n, targets, work)
    return transform(transform_of(n), scores if base is None else scores + base).astype(np.float32)


def _members(n: HostNode, modes: np.ndarray) -> dict[int, np.ndarray]:
    """The sets of the nodes of mode BRANCH_MEMBER, in the order of the nodes; each ends with a NaN."""
    nodes = np.flatnonzero(modes == MEMBER)
    values = flat(n, "membership_values", np.float64) if n.attr("membership_values") is not None else np.zeros(0)
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) != len(nodes):
        raise n.error(f"attribute 'membership_values' holds {len(ends)} sets, expected {len(nodes)}")
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    return {int(k): values[a:b] for k, a, b in zip(nodes, starts, ends, strict=True)}


def _ints(n: HostNode, name: str, count: int, default: int | None = None) -> np.ndarray:
    given = n.attr(name)
    if default is not None and (given is None or not len(given)):
        return np.full(count, default, dtype=np.int64)
    values = np.asarray(n.required(name), dtype=np.int64).reshape(-1)
    if len(values) != count:
        raise n.error(f"attribute {name!r} has {len(values)} elements, expected {count}")
    return values


def _read_trees(n: HostNode, inner: int, leaves: int) -> Trees:
    """The trees with their leaves as nodes behind the ``inner`` ones."""
    modes, splits = flat(n, "nodes_modes", np.int64), flat(n, "nodes_splits", np.float64)
    if len(splits) != inner or (inner and not 0 <= modes.min() <= modes.max() <= MEMBER):
        raise n.error(f"nodes_modes and nodes_splits do not hold {inner} modes 0 to {MEMBER} and as many values")
    branches = []
    for side in ("true", "false"):
        ids, leafs = _ints(n, f"nodes_{side}nodeids", inner), _ints(n, f"nodes_{side}leafs", inner) != 0
        limit = np.where(leafs, leaves, inner)
        if ((ids < 0) | (ids >= limit)).any():
            raise n.error(f"attribute 'nodes_{side}nodeids' refers to nodes or leaves that do not exist")
        branches.append(np.where(leafs, ids + inner, ids))
    roots = np.asarray(n.required("tree_roots"), dtype=np.int64).reshape(-1)
    if not roots.size or roots.min() < 0 or roots.max() >= inner:
        raise n.error(f"attribute 'tree_roots' is {tuple(roots.tolist()[:8])}, expected places among {inner} nodes")
    filler = np.zeros(leaves, dtype=np.int64)
    return Trees(
        roots=roots,
        modes=np.concatenate([modes, np.full(leaves, LEAF)]),
        features=np.concatenate([_ints(n, "nodes_featureids", inner), filler]),
        values=np.concatenate([splits, filler]),
        true_nodes=np.concatenate([branches[0], filler]),
        false_nodes=np.concatenate([branches[1], filler]),
        missing_true=np.concatenate([_ints(n, "nodes_missing_value_tracks_true", inner, 0), filler]) != 0,
        members=_members(n, modes),
    )


def read_leafed_ensemble(n: HostNode, targets: int, work: np.dtype) -> Ensemble:
    """The ensemble that the attributes of TreeEnsemble describe, with weights of the type ``work``."""
    leaf_weights = flat(n, "leaf_weights", work)
    inner, leaves = len(flat(n, "nodes_modes", np.int64)), len(leaf_weights)
    ids = _ints(n, "leaf_targetids", leaves)
    if leaves and not (ids.min() >= 0 and ids.max() < targets):
        raise n.error(f"attribute 'leaf_targetids' holds {ids.min()} to {ids.max()}, expected 0 to {targets - 1}")
    trees = _read_trees(n, inner, leaves)
    check_size(n, (inner + leaves, targets))
    table = np.zeros((inner + leaves, targets), dtype=work)
    votes = np.zeros(table.shape, dtype=np.bool_)
    table[inner + np.arange(leaves), ids] = leaf_weights
    votes[inner + np.arange(leaves), ids] = True
    return Ensemble(trees, table, votes)


@host_op("TreeEnsemble", 5, domain=ML)
def tree_ensemble(n: HostNode, x: np.ndarray) -> np.ndarray:
    """[N, n_targets] in the type of ``x`` [N, F]: the leaves' weights aggregated, then ``post_transform``."""
    given = tensor(n, "X", x)
    if given.dtype not in (np.float16, np.float32, np.float64):
        raise n.error(f"input 'X' is of type {type_name(given.dtype)}, expected a floating-point type")
    how, targets = int(n.attr("aggregate_function", 1)), int(n.attr("n_targets", 1))
    if not 0 <= how < len(_AGGREGATES) or targets < 1:
        raise n.error(f"aggregate_function is {how} and n_targets {targets}, expected 0 to 3 and 1 or more")
    work = np.dtype(np.float64 if given.dtype == np.float64 else np.float32)
    ensemble: Ensemble = n.once(f"ensemble {work}", lambda: read_leafed_ensemble(n, targets, work))
    scores = aggregate(*ensemble.scores(n, _matrix(n, given)), _AGGREGATES[how])
    return transform(transform_of(n), scores).astype(given.dtype)
