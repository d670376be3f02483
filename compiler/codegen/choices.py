"""Choices between kernels by size, which a graph's programs for other sizes keep: they then share the kernels.

A choice that is best for one number of rows is often nearly as good for another, while a kernel for the best one would
have to be compiled. What the first program of a graph chose at a node is chosen again, unless it is much worse.

Choices can also be settled: made once, for sizes that are named beforehand. Programs then follow them without adding to
them, so that none depends on which others there were before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

__all__ = ["Choices", "agree", "at_node", "choose", "prefer", "remembering", "stays"]

WORSE = 1.5
"""How many times the best choice's cost an earlier one's may be."""
LIKE = 4
"""How many times smaller or larger a size may be for an earlier choice between two ways to hold."""


class Choices:
    """What was chosen: by node, place among the node's choices, and options."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, int, tuple[int, ...]], int] = {}
        self.sizes: dict[tuple[str, int], tuple[int, ...]] = {}
        self.ways: dict[tuple[str, int], tuple[bool, int]] = {}
        self.agreed: dict[tuple[str, int], bool] = {}
        self.settled = False
        """Whether they were made for sizes that were named beforehand."""

    def following(self) -> Choices:
        """Choices for one program that follow these, which stay as they are."""
        copied = Choices()
        copied.made, copied.sizes = dict(self.made), dict(self.sizes)
        copied.ways, copied.agreed = dict(self.ways), dict(self.agreed)
        copied.settled = True
        return copied


class _State(threading.local):
    choices: Choices | None = None
    node = ""
    count = 0


_STATE = _State()


@contextmanager
def remembering(choices: Choices) -> Iterator[None]:
    """Have choices in the block follow earlier ones, and be followed later. One block at a time in a thread."""
    _STATE.choices = choices
    try:
        yield
    finally:
        _STATE.choices = None


def at_node(label: str) -> None:
    """Choices from here on are those of a node; those of one label follow each other's."""
    _STATE.node, _STATE.count = label, 0


def _place() -> tuple[str, int]:
    """The node, and which of its choices this is."""
    _STATE.count += 1
    return _STATE.node, _STATE.count - 1


def choose(options: Sequence[int], cost: Callable[[int], float], best: int | None = None) -> int:
    """What an earlier program chose here, if that is good enough, else the best option.

    That is ``best`` if it is stated, else the one of least cost, the first of several.
    """
    best = min(options, key=cost) if best is None else best
    choices = _STATE.choices
    if choices is None:
        return best
    key = (*_place(), tuple(options))
    earlier = choices.made.setdefault(key, best)
    return earlier if cost(earlier) <= WORSE * cost(best) else best


def stays(sizes: Sequence[int]) -> bool:
    """Whether sizes may be written into a kernel: they are what the graph's first program had here."""
    choices = _STATE.choices
    if choices is None:
        return True
    return choices.sizes.setdefault(_place(), tuple(sizes)) == tuple(sizes)


def prefer(best: bool, size: int) -> bool:
    """Which of two ways to go that both work: an earlier program's if the size is not far from its, else ``best``."""
    choices = _STATE.choices
    if choices is None:
        return best
    way, before = choices.ways.setdefault(_place(), (best, size))
    return way if before <= LIKE * size and size <= LIKE * before else best


def agree(best: bool) -> bool:
    """Which of two ways to go that add up in different orders: the settled one, so that all programs give equal bits.

    Where choices are not settled, ``best``.
    """
    choices = _STATE.choices
    if choices is None:
        return best
    earlier = choices.agreed.setdefault(_place(), best)
    return earlier if choices.settled else best
