"""All tables that the kernel for blocks of rows reads, made once for an ensemble."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from basalt.ops.extension.trees import Trees

from ..kernels.sizes import STACK_LIMIT, TREE_ROWS, WIDEST_LEAF, leaf_width
from .tree_channels import IN_SET, Coded, code_nodes
from .tree_layout import Crowns, leaf_counts, make_crowns, make_walks, shape_of

__all__ = ["BlockPlan", "plan_blocks"]

PITCHES = (512, 256, 128, 64)
"""Rows of a block, the most that keep its codes in the nearest cache."""
_NEAR = 24 * 1024
_CUT = 32
"""Exits of the crown of a tree that is too large to be one."""
_WORD = 31
"""Bits of a word beside the sign."""
_SPARSE = 4
"""Times that a table of all leaves and targets may be larger than the weights that are given."""


@dataclass(frozen=True)
class Words:
    """The nodes below the crowns, and where their parts lie (see :mod:`basalt.compiler.kernels.tree_walk`)."""

    table: np.ndarray
    is_wide: bool
    plane_shift: int
    plane_bits: int
    child_shift: int


@dataclass(frozen=True)
class BlockPlan:
    """An ensemble for the micro-kernels of trees.

    ``searches`` [channels, 5]: feature, kind, place in ``values``, steps, number of values. ``lookups`` [sets, 2]: the
    channel whose codes are looked up, and the place in ``sets``. ``trees`` [trees, 5]: the crown's place and size, the
    place in ``words`` (-1 if the crown is all), the place in ``weights`` and the target of the first weight.
    """

    code: str
    pitch: int
    width: int
    searches: np.ndarray
    values: np.ndarray
    lookups: np.ndarray
    sets: np.ndarray
    limits: np.ndarray
    links: np.ndarray
    sizes: np.ndarray
    trees: np.ndarray
    words: Words | None
    weights: np.ndarray

    @property
    def channels(self) -> int:
        return len(self.searches) + len(self.lookups)


def plan_blocks(trees: Trees, targets: int, total: type[np.generic], has_gathers: bool) -> BlockPlan | None:
    """The plan of an ensemble whose weights are added up in ``total``; None if it has none.

    That is so if nodes are shared between trees, leaves give a target two weights or too few of many targets any, or
    the codes of 64 rows are too large. Without gathers, trees of more than 64 leaves have none either.
    """
    children = np.stack([trees.true_child, trees.false_child], -1).astype(np.int64)
    shape = shape_of(trees.roots, children)
    if shape is None or not len(trees.roots):
        return None
    coded = code_nodes(trees, shape.nodes)
    children = np.stack([coded.first, coded.second], -1)
    counts = leaf_counts(shape, children)
    crowns = make_crowns(trees.roots, children, counts, _CUT)
    is_cut = np.array([any(e >= 0 for e in own) for own in crowns.exits])
    if is_cut.any() and not has_gathers:
        return None
    walks = make_walks([own if cut else [] for own, cut in zip(crowns.exits, is_cut)], children)
    order = [
        walks.held[a:b] if cut else np.array(own, np.int64)
        for own, cut, a, b in zip(crowns.exits, is_cut, walks.first, walks.first[1:])
    ]
    leaves = [-1 - own[own < 0] for own in order]
    weighed = _weights(trees, leaves, targets, total)
    code, size = _code_type(coded)
    if weighed is None:
        return None
    width, goals, weights = weighed
    per_row = (width if width > 1 else targets) * weights.itemsize
    pitch = _pitch((len(coded.channels) + len(coded.lookups)) * size, per_row)
    words = _words(coded, walks.held, walks.child, walks.number) if is_cut.any() else None
    if pitch is None or (words is None and is_cut.any()):
        return None
    ends = np.cumsum([0, *map(len, leaves)])
    lower = np.where(is_cut, walks.first[:-1], -1)
    table = np.stack([crowns.first[:-1], np.diff(crowns.first), lower, ends[:-1], goals], -1)
    return BlockPlan(
        code, pitch, width, *_searches(coded), *_lookups(coded), *_crown_tables(crowns, coded, pitch, f"u{size}"),
        table.astype(np.int32), words, weights,
    )  # fmt: skip


def _code_type(coded: Coded) -> tuple[str, int]:
    size = 1 if coded.highest < 1 << 8 else 2 if coded.highest < 1 << 16 else 4
    return f"u{8 * size}", size


def _pitch(code_bytes: int, total_bytes: int) -> int | None:
    fitting = [p for p in PITCHES if (code_bytes + 1) * p <= STACK_LIMIT and total_bytes * p <= STACK_LIMIT]
    return next((p for p in fitting if code_bytes * p <= _NEAR), fitting[-1] if fitting else None)


def _weights(
    trees: Trees, leaves: list[np.ndarray], targets: int, total: type[np.generic]
) -> tuple[int, np.ndarray, np.ndarray] | None:
    """How many weights each leaf gives, to which targets from a tree's first on, and the weights [leaves, width]."""
    counts = np.diff(trees.leaf_first)
    chosen = np.concatenate([*leaves, np.zeros(0, np.int64)]).astype(np.int64)
    tree = np.repeat(np.arange(len(leaves)), [len(own) for own in leaves])
    given = counts[chosen]
    place = np.repeat(np.arange(len(chosen)), given)
    inside = np.arange(len(place)) - np.repeat(np.cumsum(given) - given, given)
    weight = np.repeat(trees.leaf_first[:-1][chosen].astype(np.int64), given) + inside
    goal = trees.leaf_target[weight].astype(np.int64)
    if len(np.unique(place * targets + goal)) < len(place):
        return None
    lowest, highest = np.full(len(leaves), targets), np.full(len(leaves), -1)
    np.minimum.at(lowest, tree[place], goal)
    np.maximum.at(highest, tree[place], goal)
    is_single = bool((highest <= lowest).all()) if len(place) else True
    width = 1 if is_single else leaf_width(targets)
    if width > WIDEST_LEAF or len(chosen) * width > _SPARSE * len(place) + (1 << 20):
        return None
    goals = np.where(highest >= 0, lowest, 0) if is_single else np.zeros(len(leaves), np.int64)
    table = np.zeros((len(chosen), width), total)
    table[place, goal - goals[tree[place]]] = trees.leaf_weight[weight]
    return width, goals, table


def _searches(coded: Coded) -> tuple[np.ndarray, np.ndarray]:
    rows, tables, at = [], [], 0
    for channel in coded.channels:
        steps = max(1, len(channel.values).bit_length())
        padding = np.nan if channel.kind == IN_SET else np.inf
        table = np.full((1 << steps) - 1, padding, channel.values.dtype)
        table[: len(channel.values)] = channel.values
        rows.append((channel.feature, channel.kind, at, steps, len(channel.values)))
        tables.append(table)
        at += len(table)
    return np.array(rows, np.int32).reshape(-1, 5), np.concatenate(tables) if tables else np.zeros(1)


def _lookups(coded: Coded) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([0, *(len(table) for _, table in coded.lookups)])
    rows = [(source, int(at)) for (source, _), at in zip(coded.lookups, ends)]
    sets = [table for _, table in coded.lookups]
    return np.array(rows, np.int32).reshape(-1, 2), np.concatenate([*sets, np.zeros(1, np.uint8)])


def _crown_tables(crowns: Crowns, coded: Coded, pitch: int, code: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nodes = np.array(crowns.nodes, np.int64)
    links = np.zeros((len(nodes) + 1, 2), np.uint16)
    links[:-1, 0] = coded.channel[nodes] * (pitch // TREE_ROWS)
    links[:-1, 1] = np.array(crowns.left, np.int64) + 256 * np.array(crowns.right, np.int64)
    sizes = np.array([*crowns.sizes, 0], np.uint8)
    return np.append(coded.limit[nodes], 0).astype(code), links.astype("<u2").view(np.uint8), sizes


def _words(coded: Coded, held: np.ndarray, child: np.ndarray, number: np.ndarray) -> Words | None:
    """The words of all walks' nodes; None if a number is too large for them."""
    is_leaf = held < 0
    node = np.where(is_leaf, 0, held)
    plane, limit = (np.where(is_leaf, 0, column[node]) for column in (coded.channel, coded.limit))
    target = np.where(is_leaf, number, child)
    plane_bits, limit_bits = int(plane.max()).bit_length(), int(limit.max()).bit_length()
    child_bits = int(target.max() + 1).bit_length()
    if plane_bits + child_bits > _WORD:
        return None
    is_wide = plane_bits + child_bits + limit_bits > _WORD
    plane_shift = 0 if is_wide else limit_bits
    word = (is_leaf.astype(np.int64) << 31) | (target << (plane_shift + plane_bits)) | (plane << plane_shift)
    words = np.stack([limit, word], -1) if is_wide else word | limit
    return Words(words.astype(np.uint32), is_wide, plane_shift, plane_bits, plane_shift + plane_bits)
