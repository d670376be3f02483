"""What tuning found."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Changed", "TuningReport"]


class Changed(NamedTuple):
    """Operators whose kernels are chosen otherwise now; seconds of a run for all nodes that compute the same."""

    label: str
    """The user's labels of the operators."""
    kernel: str
    """What the kernel does."""
    before: float
    after: float


class TuningReport(NamedTuple):
    """What was tried and what came of it."""

    changed: tuple[Changed, ...]
    trials: int
    """Programs that were compiled and measured."""
    seconds: float
    """What it all took."""
    kept: bool
    """Whether the choices are on disk too, for other processes; False where the cache cannot be written."""
