"""What templates share with element-wise kernels."""

from __future__ import annotations

from ..codegen.units import decode

__all__ = ["decode"]
