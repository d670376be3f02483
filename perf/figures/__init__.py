"""The figures that say how quick the core is: each module measures one and returns rows for the table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured quantity; ``aim`` is what the project wants of it, empty if it has not said."""

    name: str
    value: str
    aim: str = ""
    met: bool | None = None
