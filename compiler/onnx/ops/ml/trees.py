"""TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble of ai.onnx.ml, by the core's tree_ensemble."""

from __future__ import annotations

import numpy as np

from ...errors import OnHostError
from ...host.ml_tree_attributes import Ensemble, numbers, read_ensemble
from ...host.ml_tree_ensembles import read_leafed_ensemble
from ...host.ml_trees import LEAF, MEMBER, MODES
from ...host.registry import HostNode
from ...node import NodeContext
from ...registry import ML, onnx_op
from ...tensor import Tensor
from .scores import integer_labels, labels_at, score_pair, transform, transform_of

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


def _host_node(n: NodeContext) -> HostNode:
    """The node as the reader of attributes takes it."""
    return HostNode(n.op, n.version, n.domain, n.label, n.with_defaults(), n.num_outputs)


def _matrix(n: NodeContext, double: bool) -> Tensor:
    """The input as a matrix in which thresholds are compared exactly: integers and doubles as float64."""
    x = n.tensor(0)
    if x.rank == 1:
        x = n.reshape(x, (1, *x.shape))
    if x.rank != 2:
        raise n.error(f"input X is {x}, expected a matrix")
    return n.cast(x, "float64" if double or x.dtype not in ("float32", "float16") else "float32")


def _is_double(n: NodeContext) -> bool:
    """Whether weights or thresholds are stated as doubles."""
    names = ("nodes_values", "class_weights", "target_weights", "base_values")
    tensors = [n.attr(f"{name}_as_tensor", None) for name in names]
    return any(t is not None and np.asarray(t).dtype == np.float64 for t in tensors)


def _scores(n: NodeContext, ensemble: Ensemble, x: Tensor, work: str, how: str, base: np.ndarray | None) -> Tensor:
    """The aggregated weights [rows, targets]."""
    trees = ensemble.trees
    (columns,) = n.static(x.shape[1])
    trees.check(_host_node(n), columns)
    inner = trees.modes != LEAF
    number = np.where(inner, np.cumsum(inner) - 1, -1 - (np.cumsum(~inner) - 1)).astype(np.int32)
    at = np.flatnonzero(inner)
    leaves = np.flatnonzero(~inner)
    rows, targets = np.nonzero(ensemble.votes[leaves])
    first = np.concatenate([[0], np.cumsum(ensemble.votes[leaves].sum(axis=1))])
    # The core's comparison with != holds for NaN, which here goes where the node says: == with the children exchanged.
    unequal = trees.modes[at] == MODES.index("BRANCH_NEQ")
    held, failed = trees.true_nodes[at], trees.false_nodes[at]
    operands: list[Tensor | None] = [
        x,
        n.constant(trees.features[at].astype(np.int32)),
        n.constant(trees.values[at].astype(x.dtype)),
        n.constant(np.where(unequal, MODES.index("BRANCH_EQ"), trees.modes[at]).astype(np.uint8)),
        n.constant(number[np.where(unequal, failed, held)]),
        n.constant(number[np.where(unequal, held, failed)]),
        n.constant((trees.missing_true[at] != unequal).astype(np.uint8)),
        n.constant(first.astype(np.int32)),
        n.constant(targets.astype(np.int32)),
        n.constant(ensemble.weights[leaves][rows, targets].astype(work)),
        n.constant(number[trees.roots]),
        None if base is None else n.constant(np.broadcast_to(base, ensemble.weights.shape[1:]).astype(work)),
    ]
    if (trees.modes == MEMBER).any():
        sets = [trees.members.get(int(i), np.zeros(0)) for i in at]
        ends = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int32)
        operands += [n.constant(np.concatenate(sets).astype(x.dtype)), n.constant(ends)]
    targets_count = ensemble.weights.shape[1]
    return n.emit("tree_ensemble", *operands, targets=targets_count, aggregate=how.lower())


def _base(n: NodeContext, targets: int) -> np.ndarray | None:
    base = numbers(_host_node(n), "base_values", np.dtype(np.float64))
    if base is not None and len(base) not in (0, 1, targets):
        raise n.error(f"attribute base_values has {len(base)} elements, expected {targets}")
    return base if base is not None and len(base) else None


@onnx_op("TreeEnsembleClassifier", 1, 3, 5, domain=ML)
def tree_ensemble_classifier(n: NodeContext) -> tuple[Tensor, Tensor]:
    """If all weights are for the first of two classes, their sum decides between the two, as in ONNX Runtime."""
    labels = integer_labels(n, "classlabels_int64s")
    if not labels:
        raise OnHostError
    work = "float64" if _is_double(n) or n.tensor(0).dtype == "float64" else "float32"
    ensemble = read_ensemble(_host_node(n), "class", len(labels), np.dtype(work))
    base = _base(n, len(labels))
    scores = _scores(n, ensemble, _matrix(n, _is_double(n)), work, "SUM", base)
    name = transform_of(n)
    if len(labels) != 2 or ensemble.votes[:, 1].any() or (base is not None and len(base) == 2):
        places = n.emit("arg_max", scores, axis=1, keep_dimensions=False, output_data_type="int64")
        return labels_at(n, labels, places), n.cast(transform(n, name, scores), "float32")
    single = n.slice(scores, 1, 0, 1)
    negated = name == "LOGISTIC" or bool((ensemble.weights < 0).any())
    other = n.emit("neg", single) if negated else n.emit("sub", n.scalar(1, single), single)
    above = n.emit("greater", single, other, dtype="bool")
    places = n.emit("cast", n.reshape(above, (single.shape[0],)), data_type="int64", dtype="int64")
    return labels_at(n, labels, places), n.cast(score_pair(n, name, single, other), "float32")


@onnx_op("TreeEnsembleRegressor", 1, 3, 5, domain=ML)
def tree_ensemble_regressor(n: NodeContext) -> Tensor:
    how, targets = str(n.attr("aggregate_function")), int(n.attr("n_targets", 1) or 1)
    if how not in _AGGREGATES or targets < 1:
        raise n.error(f"aggregate_function is {how!r}, n_targets {targets}, expected {', '.join(_AGGREGATES)}")
    work = "float64" if _is_double(n) or n.tensor(0).dtype == "float64" else "float32"
    ensemble = read_ensemble(_host_node(n), "target", targets, np.dtype(work))
    scores = _scores(n, ensemble, _matrix(n, _is_double(n)), work, how, _base(n, targets))
    return n.cast(transform(n, transform_of(n), scores), "float32")


@onnx_op("TreeEnsemble", 5, domain=ML)
def tree_ensemble(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    how, targets = int(n.attr("aggregate_function", 1)), int(n.attr("n_targets", 1) or 1)
    if not 0 <= how < len(_AGGREGATES) or targets < 1:
        raise n.error(f"aggregate_function is {how} and n_targets {targets}, expected 0 to 3 and 1 or more")
    work = "float64" if x.dtype == "float64" else "float32"
    ensemble = read_leafed_ensemble(_host_node(n), targets, np.dtype(work))
    splits = np.asarray(n.attr("nodes_splits"))
    matrix = _matrix(n, splits.dtype == np.float64)
    scores = _scores(n, ensemble, matrix, work, _AGGREGATES[how], None)
    return n.cast(transform(n, transform_of(n), scores), x.dtype)
