"""Finds the first node whose result differs, with few programs: intermediate results become outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .differences import Difference
from .sources import Key

__all__ = ["Finding", "first_difference"]

Pair: TypeAlias = tuple[Key, Key]
Observe: TypeAlias = Callable[[Sequence[Pair]], tuple[Sequence[Difference], bool]]
"""The differences of these results, which both models give as outputs too, and whether the models' outputs agree."""

_AT_ONCE = 8
"""Results that are observed together once observing all of them has made the difference vanish."""


@dataclass(frozen=True)
class Finding:
    """Where a difference begins.

    Attributes:
        before: the last result, in topological order, that is known to agree; None if none is.
        first: the first that differs; None if all agree and only the outputs differ.
        exact: whether nothing lies between the two; if not, the difference vanishes when what lies there is observed.
        observed: the differences that were looked at, by pair.
        all_observed: whether every result up to ``first`` was an output of one of the programs in which none differed
            before it. If not, fewer were, for with all of them there was no difference.
    """

    before: Pair | None
    first: Pair | None
    exact: bool
    observed: Mapping[Pair, Difference] = field(repr=False)
    all_observed: bool


def first_difference(pairs: Sequence[Pair], observe: Observe, at_once: int) -> Finding:
    """Find the first of these results that differs between two models whose outputs differ.

    What a program computes may change when more of its results are outputs: fewer operators are fused. So if no result
    differs as long as all are outputs, few are at a time, and the place is narrowed down as far as it stays there.

    Args:
        pairs: results in topological order.
        observe: runs both models.
        at_once: results that fit into memory together.
    """
    observed: dict[Pair, Difference] = {}
    for start in range(0, len(pairs), at_once):
        chunk = pairs[start : start + at_once]
        place = _first(observe(chunk)[0], chunk, observed)
        if place is not None:
            place += start
            return Finding(pairs[place - 1] if place else None, pairs[place], True, observed, True)
    return _narrowed(pairs, observe, observed)


def _narrowed(pairs: Sequence[Pair], observe: Observe, observed: dict[Pair, Difference]) -> Finding:
    low, high = -1, len(pairs)
    while high - low > 1:
        places = [*_spread(low, high), *([high] if high < len(pairs) else [])]
        chunk = [pairs[place] for place in places]
        differences, agree = observe(chunk)
        found = _first(differences, chunk, observed)
        if found is not None:
            low, high = places[found - 1] if found else low, places[found]
        elif high == len(pairs) and not agree:
            low = places[-1]
        else:
            break
    before = pairs[low] if low >= 0 else None
    return Finding(before, pairs[high] if high < len(pairs) else None, high - low == 1, observed, False)


def _spread(low: int, high: int) -> Iterator[int]:
    """Places between two others, at even distances."""
    count = min(_AT_ONCE, high - low - 1)
    yield from (low + (high - low) * (i + 1) // (count + 1) for i in range(count))


def _first(differences: Sequence[Difference], chunk: Sequence[Pair], observed: dict[Pair, Any]) -> int | None:
    observed.update(zip(chunk, differences, strict=True))
    return next((i for i, each in enumerate(differences) if not each.agrees), None)
