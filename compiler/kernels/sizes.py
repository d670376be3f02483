"""Sizes that micro-kernels and those who call them agree on; imports no compiler."""

from __future__ import annotations

__all__ = ["STACK_LIMIT", "TREE_EXIT", "TREE_ROWS", "WIDEST_LEAF", "leaf_width", "phase_length", "reach_bytes"]

STACK_LIMIT = 1 << 16
"""Most bytes of scratch memory on the stack: threads have small stacks."""
TREE_ROWS = 64
"""Rows that go through a tree together."""
TREE_EXIT = 64
"""Most leaves of a tree's crown, and the mark of a row that has left it."""
WIDEST_LEAF = 64
"""Most numbers of a leaf."""


def reach_bytes(form: str) -> int:
    """Bytes of scratch memory that a call of ``treecrown`` needs: for each node which rows reach it."""
    return (TREE_EXIT + 1) * (8 if form == "avx512" else TREE_ROWS)


def leaf_width(width: int) -> int:
    """The least width of a ``treesum`` that is not below ``width``."""
    return next((w for w in (1, 2, 4) if w >= width), -(-width // 8) * 8)


def phase_length(width: int, lanes: int, taps: int, phases: int) -> int:
    """Elements of a phase that ``taps`` neighbouring taps of ``width`` neighbouring windows meet, in whole vectors."""
    return -(-(width + (taps - 1) // phases) // lanes) * lanes
