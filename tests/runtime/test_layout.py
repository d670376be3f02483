"""The memory that machine code and runtime share: a file's code must never meet another layout than its own."""

from __future__ import annotations

import hashlib
from typing import Any

from basalt.runtime import layout
from basalt.runtime.tables import RowColumn, SlotKind

WORDS = {1: "93a0e12b4c9159b9", 2: "cc68b4466defea2b"}
"""A hash of all numbers for each version. When it changes, count ABI up and add a line; no released line changes."""


def test_another_layout_has_another_version() -> None:
    assert WORDS[layout.ABI] == described(), "the layout changed: count ABI up, and write the new hash here"


def described() -> str:
    """A hash of the names and numbers of everything that the executor's and kernels' machine code knows."""
    classes: list[Any] = [getattr(layout, name) for name in layout.__all__ if isinstance(getattr(layout, name), type)]
    numbers = [
        (kind.__name__, name, int(value))
        for kind in (*classes, RowColumn, SlotKind)
        for name, value in sorted(vars(kind).items())
        if isinstance(value, int) and not name.startswith("_")
    ]
    symbols = [getattr(layout, name) for name in layout.__all__ if name.endswith("_SYMBOL")]
    return hashlib.sha256(repr((numbers, symbols, layout.WORD)).encode()).hexdigest()[:16]
