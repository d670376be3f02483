"""Files of expected texts: sections that start with ``## name``.

``UPDATE_EXPECTED=1 pytest tests/compiler/passes`` writes what the passes give now; the difference is to be read before
it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER = Path(__file__).parent / "expected"


def sections(file: str) -> dict[str, str]:
    """The texts of a file by name."""
    path = _FOLDER / f"{file}.txt"
    parts = path.read_text().split("\n## ")[1:] if path.exists() else []
    named = (part.partition("\n") for part in parts)
    return {name: text.strip() for name, _, text in named}


def check(file: str, given: dict[str, str]) -> None:
    """Compare texts with those of a file.

    Raises:
        AssertionError: for the first text that differs, and for names that only one side has.
    """
    if os.environ.get("UPDATE_EXPECTED"):
        _FOLDER.mkdir(exist_ok=True)
        body = "".join(f"\n## {name}\n{text}\n" for name, text in given.items())
        (_FOLDER / f"{file}.txt").write_text(f"Expected texts; see expected.py.\n{body}")
    known = sections(file)
    assert list(given) == list(known)
    for name, text in given.items():
        assert text == known[name], name
