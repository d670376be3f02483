"""Trees as scikit-learn holds them, flattened for the core's ``tree_ensemble``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from basalt.ops.extension.trees import LEQ, MEMBER

from ...ir import Value
from ..emitter import Emitter

__all__ = ["FlatTrees", "flatten", "float32_below", "last_rounded_to"]

_OVERFLOW = 2.0**128 - 2.0**103
"""The least number that is rounded to a float32 infinity."""


def float32_below(thresholds: np.ndarray) -> np.ndarray:
    """The greatest float32 that is not above each threshold: float32 rows compare with both alike."""
    rounded = thresholds.astype(np.float32)
    above = rounded.astype(np.float64) > thresholds
    return np.where(above, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def last_rounded_to(limits: np.ndarray) -> np.ndarray:
    """The greatest float64 that is rounded to at most each float32: ``float32(x) <= limit`` as a comparison of x."""
    limits = np.asarray(limits, np.float32)
    with np.errstate(over="ignore"):
        upper = np.nextafter(limits, np.float32(np.inf)).astype(np.float64)
    lower = limits.astype(np.float64)
    middle = np.where(np.isinf(upper), _OVERFLOW, np.where(np.isinf(lower), -_OVERFLOW, lower / 2 + upper / 2))
    # A tie is rounded to the even one of the two.
    is_even = (limits.view(np.int32) & 1) == 0
    return np.where(lower == np.inf, lower, np.where(is_even, middle, np.nextafter(middle, -np.inf)))


@dataclass
class FlatTrees:
    """The nodes and leaves of an ensemble so far."""

    features: list[np.ndarray] = field(default_factory=list)
    thresholds: list[np.ndarray] = field(default_factory=list)
    true_children: list[np.ndarray] = field(default_factory=list)
    false_children: list[np.ndarray] = field(default_factory=list)
    missing: list[np.ndarray] = field(default_factory=list)
    leaf_targets: list[np.ndarray] = field(default_factory=list)
    leaf_weights: list[np.ndarray] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    members: dict[int, np.ndarray] = field(default_factory=dict)
    nodes: int = 0
    leaves: int = 0

    def add(
        self,
        left: np.ndarray,
        right: np.ndarray,
        is_leaf: np.ndarray,
        feature: np.ndarray,
        threshold: np.ndarray,
        missing_left: np.ndarray,
        weights: np.ndarray,
        target: int = 0,
        sets: dict[int, np.ndarray] | None = None,
    ) -> None:
        """Add a tree: arrays over its nodes, of which the first is the root.

        ``weights`` [nodes, targets] are what the leaves give to the targets from ``target`` on; ``sets`` holds the
        categories with which some nodes go left.
        """
        inner = np.flatnonzero(~is_leaf)
        outer = np.flatnonzero(is_leaf)
        number = np.empty(len(is_leaf), np.int64)
        number[inner] = self.nodes + np.arange(len(inner))
        number[outer] = -1 - (self.leaves + np.arange(len(outer)))
        self.members.update({int(number[place]): found for place, found in (sets or {}).items()})
        self.features.append(np.asarray(feature)[inner])
        self.thresholds.append(np.asarray(threshold, float)[inner])
        self.true_children.append(number[np.asarray(left)[inner]])
        self.false_children.append(number[np.asarray(right)[inner]])
        self.missing.append(np.asarray(missing_left)[inner])
        self.leaf_weights.append(np.asarray(weights, float)[outer])
        self.leaf_targets.append(np.tile(target + np.arange(weights.shape[1]), (len(outer), 1)))
        self.roots.append(int(number[0]))
        self.nodes += len(inner)
        self.leaves += len(outer)

    def emit(
        self, e: Emitter, x: Value, targets: int, aggregate: str = "sum", base: np.ndarray | None = None,
        *, in_float32: bool = False,
    ) -> Value:  # fmt: skip
        """The aggregated weights, [rows, targets], in the working data type.

        Rows are compared in their own data type; with ``in_float32`` as if they were rounded to float32 before.
        """
        held = np.concatenate(self.thresholds)
        if in_float32 or x.dtype == "float32":
            held = float32_below(held)
        if x.dtype == "float64" and in_float32:
            held = last_rounded_to(held)
        counts = np.concatenate([np.full(len(w), w.shape[1]) for w in self.leaf_weights])
        mode = np.full(self.nodes, LEQ, np.uint8)
        mode[list(self.members)] = MEMBER
        sets: list[Any] = []
        if self.members:
            found = [self.members.get(i, np.zeros(0)) for i in range(self.nodes)]
            ends = np.concatenate([[0], np.cumsum([len(s) for s in found])])
            sets = [e.constant(np.concatenate(found), x.dtype), e.constant(ends, "int32")]
        return e.emit(
            "tree_ensemble",
            x,
            e.constant(np.concatenate(self.features), "int32"),
            e.constant(held, x.dtype),
            e.constant(mode),
            e.constant(np.concatenate(self.true_children), "int32"),
            e.constant(np.concatenate(self.false_children), "int32"),
            e.constant(np.concatenate(self.missing), "uint8"),
            e.constant(np.concatenate([[0], np.cumsum(counts)]), "int32"),
            e.constant(np.concatenate([t.reshape(-1) for t in self.leaf_targets]), "int32"),
            e.constant(np.concatenate([w.reshape(-1) for w in self.leaf_weights])),
            e.constant(np.array(self.roots), "int32"),
            None if base is None else e.constant(np.asarray(base, float)),
            *(sets or (None, None)),
            targets=targets,
            aggregate=aggregate,
            **({"accumulate_float64": True} if e.dtype == "float32" else {}),
        )


def flatten(flat: FlatTrees, tree: Any, weights: np.ndarray, target: int = 0) -> None:
    """Add a ``sklearn.tree`` tree with other leaf weights [nodes, targets] than its values."""
    left = tree.children_left
    missing = getattr(tree, "missing_go_to_left", np.zeros(len(left), np.uint8))
    flat.add(left, tree.children_right, left < 0, tree.feature, tree.threshold, missing, weights, target)
