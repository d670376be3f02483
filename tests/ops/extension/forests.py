"""Random ensembles of trees, and what they give row by row."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

TESTS = (operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne)
NOT_EQUAL, MEMBER = 5, 6


class Forest:
    """Trees grown at random; :meth:`operands` are those of the operator, :meth:`predict` walks them in Python."""

    def __init__(
        self, seed: int, *, trees: int, depth: int, features: int, targets: int, modes: tuple[int, ...],
        many: bool = True, dtype: str = "float32",
    ) -> None:  # fmt: skip
        self.random = np.random.default_rng(seed)
        self.features, self.targets, self.modes, self.many, self.dtype = features, targets, modes, many, dtype
        self.nodes: list[list[Any]] = []
        self.leaves: list[list[tuple[int, float]]] = []
        self.roots = [self._grow(depth) for _ in range(trees)]
        self.base = self.random.normal(size=targets).astype(dtype)

    def _grow(self, depth: int) -> int:
        if depth == 0 or self.random.random() < 0.1:
            count = int(self.random.integers(0, 3)) if self.many else 1
            goals = self.random.integers(0, self.targets, count)
            self.leaves.append([(int(g), float(np.dtype(self.dtype).type(self.random.normal()))) for g in goals])
            return -len(self.leaves)
        at = len(self.nodes)
        threshold = float(
            np.dtype(self.dtype).type(self.random.choice([0.0, 0.5, -1.0, self.random.normal(), -np.inf]))
        )
        mode = int(self.random.choice(self.modes))
        members = self.random.choice([-1.0, 0.0, 0.5, 2.0], int(self.random.integers(0, 4))).tolist()
        self.nodes.append([int(self.random.integers(self.features)), threshold, mode, 0, 0, 0, members])
        self.nodes[at][5] = int(self.random.integers(0, 2)) if len(self.modes) > 1 else 0
        self.nodes[at][3] = self._grow(depth - 1)
        self.nodes[at][4] = self._grow(depth - 1)
        return at

    def operands(self) -> dict[str, np.ndarray]:
        columns = list(zip(*self.nodes)) if self.nodes else [[]] * 7
        weights = [pair for leaf in self.leaves for pair in leaf]
        found = {
            "feature": np.array(columns[0], np.int32),
            "threshold": np.array(columns[1], self.dtype),
            "mode": np.array(columns[2], np.uint8),
            "true_child": np.array(columns[3], np.int32),
            "false_child": np.array(columns[4], np.int32),
            "missing_true": np.array(columns[5], np.uint8),
            "leaf_first": np.cumsum([0, *map(len, self.leaves)]).astype(np.int32),
            "leaf_target": np.array([g for g, _ in weights], np.int32),
            "leaf_weight": np.array([w for _, w in weights], self.dtype),
            "roots": np.array(self.roots, np.int32),
            "base": self.base,
        }
        if MEMBER in self.modes:
            found["members"] = np.array([m for node in self.nodes for m in node[6]], self.dtype)
            found["member_first"] = np.cumsum([0, *(len(node[6]) for node in self.nodes)]).astype(np.int32)
        return found

    def rows(self, count: int) -> np.ndarray:
        x = self.random.normal(size=(count, self.features))
        special = self.random.choice([np.nan, 0.0, -0.0, 0.5, -1.0, 2.0, np.inf, -np.inf], x.shape)
        return np.where(self.random.random(x.shape) < 0.4, special, x).astype(self.dtype)

    def predict(self, rows: np.ndarray, aggregate: str) -> np.ndarray:
        result = np.zeros((len(rows), self.targets))
        for r, row in enumerate(rows.tolist()):
            given: dict[int, list[float]] = {}
            for root in self.roots:
                for goal, weight in self._leaf(root, row):
                    given.setdefault(goal, []).append(weight)
            for goal, weights in given.items():
                total = {"sum": sum, "min": min, "max": max, "average": lambda w: sum(w) / len(self.roots)}[aggregate]
                result[r, goal] = total(weights)
        return result + self.base

    def _leaf(self, at: int, row: list[float]) -> list[tuple[int, float]]:
        while at >= 0:
            feature, threshold, mode, yes, no, missing, members = self.nodes[at]
            value = row[feature]
            if math.isnan(value):
                holds = bool(missing) or mode == NOT_EQUAL
            else:
                holds = value in members if mode == MEMBER else TESTS[mode](value, threshold)
            at = yes if holds else no
        return self.leaves[-1 - at]
