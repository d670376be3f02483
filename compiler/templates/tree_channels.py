"""What nodes compare, as codes of a few bits: each comparison becomes ``code <= limit`` of one channel.

A channel is a feature with the values that it is compared with. A row's code in it is the number of them that are less
than the row's value, so that ``value <= values[k]`` and ``code <= k`` are the same; the codes are exact for all values,
infinities among them. What becomes of a NaN is the channel's, so that a feature may have two. Sets have channels of
their own, whose codes are 0 for members and 1 for others, looked up by the value's place among all members of the
feature's sets.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from basalt.ops.extension.trees import EQ, GT, GTE, LT, MEMBER, NEQ, Trees

__all__ = ["ABOVE", "IN_SET", "UNORDERED", "Channel", "Coded", "code_nodes"]

ABOVE, UNORDERED, IN_SET = range(3)
"""How values are coded: a NaN as 0, a NaN as the greatest code, by their place among members."""


@dataclass(frozen=True)
class Channel:
    """A feature coded by its place among ascending ``values``."""

    feature: int
    kind: int
    values: np.ndarray

    @property
    def highest(self) -> int:
        """The greatest code."""
        return len(self.values) + (self.kind == IN_SET)


@dataclass
class Coded:
    """The nodes' channels [nodes] and limits [nodes], and their children, the first for codes up to the limit.

    Channels from ``len(channels)`` on are ``lookups``: the channel whose codes are looked up, and the table [codes].
    """

    channels: list[Channel] = field(default_factory=list)
    lookups: list[tuple[int, np.ndarray]] = field(default_factory=list)
    channel: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    limit: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    first: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    second: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def highest(self) -> int:
        """The greatest code of all channels."""
        return max([1, *(c.highest for c in self.channels)])


def code_nodes(trees: Trees, used: np.ndarray) -> Coded:
    """The channels and limits of the nodes ``used``; those of others are 0."""
    mode, missing = trees.mode, trees.missing_true != 0
    swapped = np.isin(mode, (GT, GTE, NEQ))
    nan_first = np.where(swapped, ~(missing | (mode == NEQ)), missing)
    below = np.nextafter(trees.threshold, trees.threshold.dtype.type(-np.inf))
    # Nothing is less than the lowest threshold, and nothing is at most NaN.
    below = np.where(trees.threshold == -np.inf, trees.threshold.dtype.type(np.nan), below)
    threshold = np.where(np.isin(mode, (LT, GTE)), below, trees.threshold)
    coded = Coded(
        channel=np.zeros(len(mode), np.int64),
        limit=np.zeros(len(mode), np.int64),
        first=np.where(swapped, trees.false_child, trees.true_child).astype(np.int64),
        second=np.where(swapped, trees.true_child, trees.false_child).astype(np.int64),
    )
    in_set = np.isin(mode, (EQ, NEQ, MEMBER)) | np.isnan(threshold)
    compared = used[~in_set[used]]
    _add_thresholds(coded, compared, trees.feature[compared], threshold[compared], nan_first[compared])
    _add_sets(coded, trees, used[in_set[used]], nan_first)
    return coded


def _add_thresholds(
    coded: Coded, nodes: np.ndarray, feature: np.ndarray, threshold: np.ndarray, nan_first: np.ndarray
) -> None:
    keys = feature.astype(np.int64) * 2 + nan_first
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    for key, places in zip(found.tolist(), np.split(order, starts[1:])):
        values, limits = np.unique(threshold[places], return_inverse=True)
        coded.channel[nodes[places]] = len(coded.channels)
        coded.limit[nodes[places]] = limits.reshape(-1)
        coded.channels.append(Channel(key // 2, ABOVE if key % 2 else UNORDERED, values))


def _add_sets(coded: Coded, trees: Trees, nodes: np.ndarray, nan_first: np.ndarray) -> None:
    """A channel for all members of a feature's sets, and one for each set, whose nodes have the limit 0."""
    sets = {int(n): _set_of(trees, int(n)) for n in nodes}
    lookups: list[tuple[int, bytes, np.ndarray]] = []
    places: dict[tuple[int, bytes], int] = {}
    for feature in np.unique(trees.feature[nodes]).tolist():
        own = nodes[trees.feature[nodes] == feature].tolist()
        values = np.unique(np.concatenate([sets[n] for n in own]))
        source = len(coded.channels)
        coded.channels.append(Channel(feature, IN_SET, values))
        for node in own:
            table = np.ones(len(values) + 2, np.uint8)
            table[np.searchsorted(values, sets[node])] = 0
            table[-1] = not nan_first[node]
            key = source, table.tobytes()
            if key not in places:
                places[key] = len(lookups)
                lookups.append((source, key[1], table))
            coded.channel[node] = places[key]
    coded.channel[nodes] += len(coded.channels)
    coded.lookups = [(source, table) for source, _, table in lookups]


def _set_of(trees: Trees, node: int) -> np.ndarray:
    """The values for which a node's set, or equality, or comparison with NaN holds."""
    mode = trees.mode[node]
    found = trees.members_of(node) if mode == MEMBER else trees.threshold[node : node + 1]
    if mode not in (EQ, NEQ, MEMBER):
        return found[:0]
    return found[~np.isnan(found)]
