"""Decision trees as arrays, and which leaf each row of a matrix falls into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from basalt.compiler.onnx.host.registry import HostNode

__all__ = ["LEAF", "MEMBER", "MODES", "Trees", "aggregate"]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""Comparisons of the feature with the node's value, by number."""
MEMBER, LEAF = 6, 7

_COMPARISONS = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)


@dataclass(frozen=True)
class Trees:
    """Nodes of all trees, one an element of each array; ``members`` holds the values of the nodes of mode MEMBER."""

    roots: np.ndarray
    modes: np.ndarray
    features: np.ndarray
    values: np.ndarray
    true_nodes: np.ndarray
    false_nodes: np.ndarray
    missing_true: np.ndarray
    members: dict[int, np.ndarray]

    def check(self, n: HostNode, width: int) -> None:
        """Raise if a node refers to a node or feature (of ``width``) that does not exist."""
        inner = self.modes != LEAF
        for name, places in (("true", self.true_nodes[inner]), ("false", self.false_nodes[inner])):
            if places.size and not (places.min() >= 0 and places.max() < len(self.modes)):
                raise n.error(f"a node's {name} branch is node {places.max()}, expected one of {len(self.modes)}")
        used = self.features[inner]
        if used.size and not (used.min() >= 0 and used.max() < width):
            raise n.error(f"a node looks at feature {used.max()}, expected 0 to {width - 1}")

    def leaf(self, n: HostNode, root: int, x: np.ndarray) -> np.ndarray:
        """The leaf [N] that each row of the float64 matrix ``x`` reaches from ``root``."""
        at = np.full(len(x), root, dtype=np.int64)
        rows = np.flatnonzero(self.modes[at] != LEAF)
        for _ in range(len(self.modes)):
            if not rows.size:
                return at
            nodes = at[rows]
            at[rows] = np.where(
                self._test(nodes, x[rows, self.features[nodes]]), self.true_nodes[nodes], self.false_nodes[nodes]
            )
            rows = rows[self.modes[at[rows]] != LEAF]
        if rows.size:
            raise n.error("the branches of a tree form a cycle, expected every path to end in a leaf")
        return at

    def _test(self, nodes: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Which nodes are true for the values ``found``; NaN goes where the node says."""
        result = np.zeros(len(nodes), dtype=np.bool_)
        modes = self.modes[nodes]
        for mode in np.unique(modes).tolist():
            chosen = modes == mode
            if mode == MEMBER:
                result[chosen] = [
                    v in self.members[k] for k, v in zip(nodes[chosen].tolist(), found[chosen], strict=True)
                ]
            else:
                result[chosen] = _COMPARISONS[mode](found[chosen], self.values[nodes[chosen]])
        return np.where(np.isnan(found), self.missing_true[nodes], result)


def aggregate(leaf_scores: list[np.ndarray], counted: list[np.ndarray], how: str) -> np.ndarray:
    """Scores [N, targets] of all trees, each [N, targets], as SUM, AVERAGE, MIN or MAX of those that are ``counted``.

    A target that no tree counts has the score 0.
    """
    total = np.zeros_like(leaf_scores[0])
    if how in ("SUM", "AVERAGE"):
        for scores in leaf_scores:
            total += scores
        return total / total.dtype.type(len(leaf_scores)) if how == "AVERAGE" else total
    better = np.minimum if how == "MIN" else np.maximum
    seen = np.zeros(total.shape, dtype=np.bool_)
    for scores, votes in zip(leaf_scores, counted, strict=True):
        total = np.where(votes & seen, better(total, scores), np.where(votes, scores, total))
        seen |= votes
    return total
