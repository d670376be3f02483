"""Operators with bodies: If, Loop, Scan, SequenceMap.

Bodies are translated in place where that is bounded, else run by the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..node import NodeContext
from ..state import Frame
from ..steps import HostCall
from .branch import branch
from .loop import loop
from .scan import scan
from .sequence_map import sequence_map

if TYPE_CHECKING:
    from ..tracer import Tracer

__all__ = ["CONTROL", "Control"]

Control = Callable[["Tracer", Frame, NodeContext], "HostCall | None"]
"""Translates a node: goes on with its body, or gives the step that the host takes."""

CONTROL: dict[tuple[str, str], Control] = {
    ("", "If"): branch,
    ("", "Loop"): loop,
    ("", "Scan"): scan,
    ("", "SequenceMap"): sequence_map,
}
"""By domain and operator."""
