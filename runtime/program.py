"""Programs: plain data plus loaded code, ready to run."""

from __future__ import annotations

from .spec import KernelCode, ProgramSpec, Row, Slot, SlotKind, TensorSpec

__all__ = ["KernelCode", "ProgramSpec", "Row", "Slot", "SlotKind", "TensorSpec"]
