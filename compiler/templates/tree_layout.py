"""Trees as the micro-kernels for blocks of rows read them: crowns, and the nodes below in the order of their depth."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from ..kernels.sizes import TREE_EXIT

__all__ = ["Crowns", "Shape", "Walks", "leaf_counts", "make_crowns", "make_walks", "shape_of"]


@dataclass(frozen=True)
class Shape:
    """The inner nodes that the roots lead to, a level of depth after another."""

    levels: list[np.ndarray]

    @property
    def nodes(self) -> np.ndarray:
        return np.concatenate([*self.levels, np.zeros(0, np.int64)]).astype(np.int64)


def shape_of(roots: np.ndarray, children: np.ndarray) -> Shape | None:
    """The levels of trees with ``children`` [nodes, 2]; None if some node has two parents, as in no tree."""
    levels, seen = [], np.zeros(len(children), bool)
    level = roots[roots >= 0].astype(np.int64)
    while level.size:
        if seen[level].any() or len(np.unique(level)) < len(level):
            return None
        seen[level] = True
        levels.append(level)
        below = children[level].reshape(-1)
        level = below[below >= 0]
    return Shape(levels)


def leaf_counts(shape: Shape, children: np.ndarray) -> np.ndarray:
    """The leaves below each node, [nodes]."""
    counts = np.ones(len(children) + 1, np.int64)
    for level in reversed(shape.levels):
        # A leaf's negative number names the last element, which is 1.
        counts[level] = counts[np.maximum(children[level], -1)].sum(axis=1)
    return counts[:-1]


@dataclass
class Crowns:
    """The nodes of all crowns in order, and their exits: nodes, or leaves as negative numbers."""

    nodes: list[int]
    left: list[int]
    right: list[int]
    sizes: list[int]
    first: list[int]
    exits: list[list[int]]


def make_crowns(roots: np.ndarray, children: np.ndarray, counts: np.ndarray, most: int) -> Crowns:
    """The crown of each tree: all of it if it has up to 64 leaves, else the nodes with most leaves below.

    ``most`` is the number of exits of those that are cut.
    """
    crowns = Crowns([], [], [], [], [0], [])
    pairs = children.tolist()
    for root in roots.tolist():
        whole = root < 0 or counts[root] <= TREE_EXIT
        chosen = None if whole else _largest(root, pairs, counts, most - 1)
        crowns.exits.append(_add_crown(crowns, root, pairs, chosen))
        crowns.first.append(len(crowns.nodes))
    return crowns


def _largest(root: int, pairs: list[list[int]], counts: np.ndarray, most: int) -> set[int]:
    heap, chosen = [(-int(counts[root]), root)], set[int]()
    while heap and len(chosen) < most:
        _, node = heapq.heappop(heap)
        chosen.add(node)
        for child in pairs[node]:
            if child >= 0:
                heapq.heappush(heap, (-int(counts[child]), child))
    return chosen


def _add_crown(crowns: Crowns, root: int, pairs: list[list[int]], chosen: set[int] | None) -> list[int]:
    """Number nodes as they are found from left to right; returns the exits. A tree may be deep: no recursion."""
    start, exits = len(crowns.nodes), list[int]()
    # What is left to do: visit a node for a parent's side, or (None) note how many exits a node has on its left.
    waiting: list[tuple[int | None, int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        if node is None:
            crowns.sizes[parent] = len(exits) - side
            continue
        if node < 0 or (chosen is not None and node not in chosen):
            exits.append(node)
            continue
        place = len(crowns.nodes)
        if parent >= 0:
            (crowns.right if side else crowns.left)[parent] = place - start
        crowns.nodes.append(node)
        for column in (crowns.left, crowns.right):
            column.append(TREE_EXIT)
        crowns.sizes.append(0)
        first, second = pairs[node]
        waiting += [(second, place, 1), (None, place, len(exits)), (first, place, 0)]
    return exits


@dataclass(frozen=True)
class Walks:
    """The nodes below crowns: what each place holds (a node, or a leaf as a negative number), its first child's place.

    Places count from the tree's first, which is ``first`` of the tree. ``number`` of a leaf is its place among the
    tree's leaves.
    """

    held: np.ndarray
    child: np.ndarray
    number: np.ndarray
    first: np.ndarray


def make_walks(exits: list[list[int]], children: np.ndarray) -> Walks:
    """The exits of each tree, then what is below them, level by level and from left to right."""
    held = np.array([e for own in exits for e in own], np.int64)
    tree = np.repeat(np.arange(len(exits)), [len(own) for own in exits])
    given = np.zeros(len(exits), np.int64)
    leaves = np.zeros(len(exits), np.int64)
    parts: list[tuple[np.ndarray, ...]] = []
    while held.size:
        place = given[tree] + _rank(tree)
        given += np.bincount(tree, minlength=len(exits))
        is_leaf = held < 0
        number = np.zeros(len(held), np.int64)
        number[is_leaf] = leaves[tree[is_leaf]] + _rank(tree[is_leaf])
        leaves += np.bincount(tree[is_leaf], minlength=len(exits))
        child = np.zeros(len(held), np.int64)
        below = tree[~is_leaf]
        child[~is_leaf] = given[below] + 2 * _rank(below)
        parts.append((tree, place, held, child, number))
        held, tree = children[held[~is_leaf]].reshape(-1), np.repeat(below, 2)
    first = np.concatenate([[0], np.cumsum(given)])
    columns = [np.concatenate(c) for c in zip(*parts)] if parts else [np.zeros(0, np.int64)] * 5
    order = np.argsort(first[columns[0]] + columns[1])
    return Walks(columns[2][order], columns[3][order], columns[4][order], first)


def _rank(tree: np.ndarray) -> np.ndarray:
    """The place of each element among those of the same tree; trees ascend."""
    starts = np.flatnonzero(np.diff(tree, prepend=-1))
    return np.arange(len(tree)) - np.repeat(starts, np.diff(np.append(starts, len(tree))))
