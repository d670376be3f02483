"""Trees as a compiled walk reads them: records of four words, leaves that lead to themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from basalt.ops.extension.trees import EQ, GT, GTE, LT, MEMBER, NEQ, Trees

EQUAL = 1 << 30
"""A record's first word is the feature, with this bit if it asks for equality and not for <=."""
NAN_TRUE = 1 << 29
"""As :data:`EQUAL`: whether a NaN goes to the first child."""


@dataclass(frozen=True)
class Packed:
    """The records [nodes + leaves, 4]: feature and bits, both children, the bits of a float32 threshold.

    The first ``inner`` records are inner nodes. float64 thresholds stand in ``thresholds``. ``plain`` says that every
    node asks for <= and that a NaN goes to its second child.
    """

    records: np.ndarray
    thresholds: np.ndarray
    roots: np.ndarray
    inner: int
    plain: bool


def pack_trees(trees: Trees) -> Packed:
    """Bring every comparison to <= or ==, which differ from the others in their threshold or their children's order."""
    feature, threshold, (first, second), bits = _comparisons(trees)
    inner = len(feature)
    records = np.zeros((inner + trees.leaves, 4), np.int32)
    records[:inner, 0] = feature | bits
    for column, child in ((1, first), (2, second)):
        records[:inner, column] = np.where(child >= 0, child, inner - 1 - child)
    leaves = np.arange(inner, inner + trees.leaves)
    records[inner:, 1] = records[inner:, 2] = leaves
    thresholds = np.zeros(len(records), threshold.dtype)
    thresholds[:inner] = threshold
    if threshold.dtype == np.float32:
        records[:, 3] = thresholds.view(np.int32)
    roots = np.where(trees.roots >= 0, trees.roots, inner - 1 - trees.roots).astype(np.int32)
    return Packed(records, thresholds, roots, inner, not bits.any())


def _comparisons(trees: Trees) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Features, thresholds, both children and bits of all nodes; sets have become chains of nodes behind the others."""
    trees = _without_sets(trees)
    mode, missing = trees.mode, trees.missing_true != 0
    swapped = np.isin(mode, (GT, GTE, NEQ))
    first = np.where(swapped, trees.false_child, trees.true_child).astype(np.int64)
    second = np.where(swapped, trees.true_child, trees.false_child).astype(np.int64)
    below = np.nextafter(trees.threshold, trees.threshold.dtype.type(-np.inf))
    # Nothing is less than the lowest threshold, and nothing is at most NaN.
    below = np.where(trees.threshold == -np.inf, trees.threshold.dtype.type(np.nan), below)
    threshold = np.where(np.isin(mode, (LT, GTE)), below, trees.threshold)
    nan_first = np.where(swapped, ~(missing | (mode == NEQ)), missing)
    bits = np.where(np.isin(mode, (EQ, NEQ)), EQUAL, 0) | np.where(nan_first, NAN_TRUE, 0)
    return trees.feature, threshold.astype(trees.threshold.dtype), (first, second), bits.astype(np.int32)


def _without_sets(trees: Trees) -> Trees:
    """The trees with each membership as a chain of equalities; the last one's false child is the membership's."""
    at = np.flatnonzero(trees.mode == MEMBER)
    if not at.size:
        return trees
    columns = {
        name: list(getattr(trees, name).tolist())
        for name in ("feature", "threshold", "mode", "true_child", "false_child", "missing_true")
    }
    for node in map(int, at):
        members = trees.members_of(node)
        # An empty set holds nothing: no value equals NaN.
        values = members.tolist() or [float("nan")]
        otherwise = columns["false_child"][node]
        place = node
        for k, value in enumerate(values):
            columns["threshold"][place], columns["mode"][place] = value, EQ
            if k == len(values) - 1:
                columns["false_child"][place] = otherwise
                break
            following = len(columns["feature"])
            columns["false_child"][place] = following
            for column in columns.values():
                column.append(column[node])
            columns["missing_true"][following] = 0
            place = following
    made = {name: np.array(v, getattr(trees, name).dtype) for name, v in columns.items()}
    kept = {name: getattr(trees, name) for name in ("leaf_first", "leaf_target", "leaf_weight", "roots")}
    return Trees(**made, **kept, members=None, member_first=None)
