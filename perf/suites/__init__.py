"""Suites: what is measured. Each module lists cases and builds the files that contenders load.

A suite module has ``PEERS`` (contenders measured against by default), ``cases(options)``, and ``build(case, folder)``,
which writes the case's problem into a folder: it runs in a process of its own.
"""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["SUITES", "Case", "Options", "load_suite"]

SUITES = ("kernels", "models", "sklearn", "startup")


@dataclass(frozen=True)
class Options:
    """What decides which cases a suite has."""

    quick: bool = False
    models: Path | None = None


@dataclass(frozen=True)
class Case:
    """One thing that contenders do.

    Attributes:
        suite: the suite's name.
        name: the case's name in it.
        problem: cases of the same problem share the files that ``build`` writes.
        params: what ``build`` and the contenders need to know; JSON values.
        tolerance: the greatest error of an output, in parts of its scale (its greatest magnitude).
        work: ``flops`` and ``bytes`` that a call cannot avoid, ``rows`` that it answers; what is not known is left out.
        probe: for a case that may take minutes: params of a small part of it, whose time decides how much is measured.
    """

    suite: str
    name: str
    problem: str
    params: dict[str, Any]
    tolerance: float = 1e-4
    work: dict[str, float] = field(default_factory=dict)
    probe: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Its fields as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Case:
        """The case of ``to_json``'s values."""
        return cls(**value)


def load_suite(name: str) -> Any:
    """The module of a suite. Raises ValueError for a name that no suite has."""
    if name not in SUITES:
        raise ValueError(f"there is no suite {name!r}; the suites are {', '.join(SUITES)}")
    return importlib.import_module(f".{name}", __package__)
