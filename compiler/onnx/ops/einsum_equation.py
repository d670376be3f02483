"""Equations of Einstein summation (ONNX operator Einsum, after NumPy's ``einsum``)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def parse_equation(equation: str, ranks: Sequence[int]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """The labels of each operand's axes, and those of the result's.

    The axes that an ellipsis stands for are labelled ``...0``, ``...1``, counted from the last.

    Raises:
        ValueError: for an equation that is none, or does not fit operands of these ranks.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"has {len(terms)} terms, expected one for each of {len(ranks)} operands")
    operands = [_labels(term, rank) for term, rank in zip(terms, ranks)]
    widest = max((sum(label.startswith("...") for label in o) for o in operands), default=0)
    dots = tuple(f"...{i}" for i in reversed(range(widest)))
    counts = Counter(label for o in operands for label in o)
    if not arrow:
        once = sorted(label for label, count in counts.items() if count == 1 and label not in dots)
        return operands, (*dots, *once)
    if not _TERM.fullmatch(right):
        raise ValueError(f"has the right-hand side {right!r}, expected letters and at most one ellipsis")
    before, ellipsis, after = right.partition("...")
    result = (*before, *(dots if ellipsis else ()), *after)
    if len(set(result)) != len(result) or any(label not in counts for label in result):
        raise ValueError(f"has the right-hand side {right!r}, expected letters of the left-hand side, each once")
    return operands, result


def _labels(term: str, rank: int) -> tuple[str, ...]:
    if not _TERM.fullmatch(term):
        raise ValueError(f"has the term {term!r}, expected letters and at most one ellipsis")
    before, ellipsis, after = term.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not ellipsis):
        raise ValueError(f"has the term {term!r}, which does not fit an operand of rank {rank}")
    return (*before, *(f"...{i}" for i in reversed(range(hidden))), *after)
