"""The flattened trees of an ensemble, and what must hold of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from basalt.errors import ValidationError

from ..schema import Arrays

LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(7)


@dataclass(frozen=True)
class Trees:
    """The arrays of :class:`basalt.ops.extension.tree_ensemble.TreeEnsemble`, by the names of its operands."""

    feature: np.ndarray
    threshold: np.ndarray
    mode: np.ndarray
    true_child: np.ndarray
    false_child: np.ndarray
    missing_true: np.ndarray
    leaf_first: np.ndarray
    leaf_target: np.ndarray
    leaf_weight: np.ndarray
    roots: np.ndarray
    members: np.ndarray | None
    member_first: np.ndarray | None

    @staticmethod
    def of(x: Arrays) -> Trees:
        """From operands by name."""
        given: dict[str, Any] = {
            f.name: None if (v := getattr(x, f.name)) is None else np.asarray(v) for f in fields(Trees)
        }
        return Trees(**given)

    @property
    def leaves(self) -> int:
        return len(self.leaf_first) - 1

    def members_of(self, node: int) -> np.ndarray:
        """The set that a node looks in; empty if it has none."""
        if self.members is None or self.member_first is None:
            return self.threshold[:0]
        return self.members[self.member_first[node] : self.member_first[node + 1]]


def check_trees(trees: Trees, features: int, targets: int) -> None:
    """Check that every index is in its range and that every walk ends.

    Raises:
        ValidationError: names the array, what it holds and what was expected.
    """
    nodes, leaves = len(trees.feature), trees.leaves
    _check_range("feature", trees.feature, 0, features - 1)
    _check_range("mode", trees.mode, 0, MEMBER)
    for name in ("true_child", "false_child", "roots"):
        _check_range(name, getattr(trees, name), -leaves, nodes - 1)
    _check_range("leaf_target", trees.leaf_target, 0, targets - 1)
    _check_bounds("leaf_first", trees.leaf_first, len(trees.leaf_weight))
    if trees.member_first is not None and trees.members is not None:
        _check_bounds("member_first", trees.member_first, len(trees.members))
    _check_ends(trees)


def _check_range(name: str, values: np.ndarray, low: int, high: int) -> None:
    wrong = np.flatnonzero((values < low) | (values > high))
    if wrong.size:
        raise ValidationError(
            f"tree_ensemble: {name}[{wrong[0]}] is {values[wrong[0]]}, expected "
            + (f"{low} to {high}" if low <= high else "none, for there is nothing that it could name")
        )


def _check_bounds(name: str, first: np.ndarray, count: int) -> None:
    if first[0] != 0 or first[-1] != count or (np.diff(first) < 0).any():
        raise ValidationError(
            f"tree_ensemble: {name} goes from {first[0]} to {first[-1]}, expected 0 to {count}, rising"
        )


def _check_ends(trees: Trees) -> None:
    """That no node is its own descendant: nodes that nothing leads to are taken away until none is left."""
    children = np.stack([trees.true_child, trees.false_child], -1).astype(np.int64)
    own = np.arange(len(children))[:, None]
    if (children > own)[children >= 0].all():
        return
    parents = np.bincount(children[children >= 0], minlength=len(children))
    free = np.flatnonzero(parents == 0)
    taken = 0
    while free.size:
        taken += free.size
        below = children[free]
        below = below[below >= 0]
        np.subtract.at(parents, below, 1)
        free = np.unique(below[parents[below] == 0])
    if taken < len(children):
        raise ValidationError(f"tree_ensemble: {len(children) - taken} nodes lie on a cycle or below one")
