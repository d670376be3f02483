"""Compiling ahead of time: a model's programs for some shapes and CPUs, in a file that starts without a compiler."""

from __future__ import annotations

from .build import compile_ahead
from .save import save_program

__all__ = ["compile_ahead", "save_program"]
