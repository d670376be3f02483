"""Files of compiled programs for tests: nothing in them is code."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from basalt.serialization.program.data import ProgramParts
from basalt.serialization.program.writing import save_program

__all__ = ["example", "saved"]


def example() -> ProgramParts:
    """A program with a record of every type of value, and two byte vectors."""
    record = {
        "none": None,
        "number": -5,
        "large": 2**63,
        "real": 0.1,
        "text": "Gr\u00fc\u00dfe",
        "bytes": b"\0\xff",
        "tuple": (1, ("a", (2.5,)), ()),
        "array": np.arange(6, dtype=np.float32).reshape(2, 3),
        "empty": np.empty((0, 4), np.int64),
        "list": [1, "x", np.array(3, np.int8), [{"deep": ()}]],
        "record": {"inner": True},
    }
    parts = {
        "model": record,
        "weights": np.arange(1000, dtype=np.uint8),
        "nothing": np.empty(0, np.uint8),
        "notes": {"labels": ("a", "b", "a")},
    }
    return ProgramParts({"name": "example", "basalt": "0"}, parts)


def saved(folder: Path) -> Path:
    """The example in a file."""
    path = folder / "example.bsl"
    save_program(path, example())
    return path
