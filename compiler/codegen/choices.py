"""Choices between kernels by size, which a graph's programs for other sizes keep: they then share the kernels.

A choice that is best for one number of rows is often nearly as good for another, while a kernel for the best one would
have to be compiled. What the first program of a graph chose at a node is chosen again, unless it is much worse.

Choices can also be settled: made once, for sizes that are named beforehand. Programs then follow them without adding to
them, so that none depends on which others there were before it.

What was measured to be best (:mod:`basalt.compiler.tuning`) goes before all of that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

__all__ = [
    "Choices",
    "Decision",
    "agree",
    "at_node",
    "choose",
    "measured",
    "prefer",
    "remembering",
    "stays",
]

WORSE = 1.5
"""How many times the best choice's cost an earlier one's may be."""
LIKE = 4
"""How many times smaller or larger a size may be for an earlier choice between two ways to hold."""
NEAR = 2.5
"""How many times the best choice's estimated cost another one's may be to be worth measuring."""


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


class Decision(NamedTuple):
    """A choice that was made at a node, and what else could have been chosen."""

    key: str
    """The node's signature, the place among its choices, and the options: equal for equal nodes of any model."""
    made: int
    others: tuple[int, ...]
    """The options that are not much worse by their estimated cost."""


class _State(threading.local):
    choices: Choices | None = None
    node = ""
    count = 0
    best: Mapping[str, int] | None = None
    decisions: list[Decision] | None = None
    signature: Callable[[], str] | None = None


_STATE = _State()


@contextmanager
def remembering(choices: Choices) -> Iterator[None]:
    """Have choices in the block follow earlier ones, and be followed later. One block at a time in a thread."""
    _STATE.choices = choices
    try:
        yield
    finally:
        _STATE.choices = None


@contextmanager
def measured(best: Mapping[str, int], decisions: list[Decision] | None = None) -> Iterator[None]:
    """Have choices in the block be those of ``best``, by key of the decision, where it has one.

    Args:
        best: options by :attr:`Decision.key`.
        decisions: where to list what was decided; None if nobody wants to know.
    """
    before = _STATE.best, _STATE.decisions
    _STATE.best, _STATE.decisions = best, decisions
    try:
        yield
    finally:
        _STATE.best, _STATE.decisions = before


def at_node(label: str, signature: Callable[[], str] | None = None) -> None:
    """Choices from here on are those of a node.

    Args:
        label: choices of one label follow each other's.
        signature: gives the text that measured choices know the node by; None if they don't.
    """
    _STATE.node, _STATE.count, _STATE.signature = label, 0, signature


def _place() -> tuple[str, int]:
    """The node, and which of its choices this is."""
    _STATE.count += 1
    return _STATE.node, _STATE.count - 1


def choose(options: Sequence[int], cost: Callable[[int], float], best: int | None = None) -> int:
    """What an earlier program chose here, if that is good enough, else the best option.

    That is ``best`` if it is stated, else the one of least cost, the first of several.
    """
    best = min(options, key=cost) if best is None else best
    place = _place()
    found = _decided(place[1], tuple(options), best, cost)
    if found is not None:
        return found
    choices = _STATE.choices
    if choices is None:
        return best
    earlier = choices.made.setdefault((*place, tuple(options)), best)
    return earlier if cost(earlier) <= WORSE * cost(best) else best


def _decided(place: int, options: tuple[int, ...], best: int, cost: Callable[[int], float] | None) -> int | None:
    """The measured choice, if there is one; it is noted if somebody wants to know."""
    wanted = _STATE.decisions is not None
    if not (_STATE.best or wanted) or _STATE.signature is None:
        return None
    key = f"{_STATE.signature()}/{place}/{','.join(map(str, options))}"
    found = (_STATE.best or {}).get(key)
    if found not in options:
        found = None
    if _STATE.decisions is not None:
        made = best if found is None else found
        others = tuple(o for o in options if o != made and (cost is None or cost(o) <= NEAR * cost(best)))
        _STATE.decisions.append(Decision(key, made, others))
    return found


def stays(sizes: Sequence[int]) -> bool:
    """Whether sizes may be written into a kernel: they are what the graph's first program had here."""
    choices = _STATE.choices
    if choices is None:
        return True
    return choices.sizes.setdefault(_place(), tuple(sizes)) == tuple(sizes)


def prefer(best: bool, size: int) -> bool:
    """Which of two ways to go that both work: an earlier program's if the size is not far from its, else ``best``."""
    place = _place()
    found = _decided(place[1], (0, 1), int(best), None)
    if found is not None:
        return bool(found)
    choices = _STATE.choices
    if choices is None:
        return best
    way, before = choices.ways.setdefault(place, (best, size))
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
