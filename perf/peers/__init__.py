"""Contenders: one module for each library. A worker process imports exactly one of them.

A module has ``prepare(task)``, which gives a ready :class:`Prepared` or raises :class:`CannotRun`, and ``versions()``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..suites import Case

__all__ = ["MODULES", "OURS", "CannotRun", "Prepared", "Task", "installed", "load_peer"]

OURS = ("basalt", "basalt-f32")
MODULES = {
    "basalt": "ours",
    "basalt-f32": "ours",
    "ort": "ort",
    "ort-f64": "ort",
    "openvino": "openvino",
    "numpy": "numpy",
    "torch": "torch",
    "sklearn": "sklearn",
    "treelite": "treelite",
    "tl2cgen": "tl2cgen",
}
"""The module of each contender."""


class CannotRun(Exception):
    """The contender does not do this case; the message says why."""


@dataclass(frozen=True)
class Task:
    """What a contender is to get ready: a case, the folder of its problem's files, and a number of threads."""

    contender: str
    case: Case
    folder: Path
    threads: int

    @property
    def params(self) -> dict[str, Any]:
        """The case's parameters."""
        return self.case.params


@dataclass(frozen=True)
class Prepared:
    """A contender that is ready.

    Attributes:
        call: does the case's work once.
        outputs: does it once and gives what came out, by name, to be compared with the expected.
        note: what the reader must know to judge the figure, such as which form of a library ran.
    """

    call: Callable[[], Any]
    outputs: Callable[[], Mapping[str, np.ndarray]]
    note: str = ""


def load_peer(contender: str) -> Any:
    """The module of a contender. Raises ValueError for a name that none has."""
    if contender not in MODULES:
        raise ValueError(f"there is no contender {contender!r}; they are {', '.join(MODULES)}")
    return importlib.import_module(f".{MODULES[contender]}", __package__)


def installed(*names: str) -> dict[str, str]:
    """The versions of distributions, of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
