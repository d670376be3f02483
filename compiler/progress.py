"""How far compiling has come: a hook for programs that show it, and a line on the terminal for those that don't.

A hook is called after each kernel that had to be compiled, with the number of the program's kernels that are ready,
the number of all, and the seconds that this one took. An exception out of it ends the compilation.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

__all__ = ["Progress", "reporting", "set_hook"]

Progress: TypeAlias = Callable[[int, int, float], None]

_PATIENCE = 1.0
"""Seconds of compiling before the terminal's line appears."""
_INTERVAL = 0.1

_hook: Progress | None = None


def set_hook(hook: Progress | None) -> Progress | None:
    """Have ``hook`` called in place of the terminal's line, None for the line again; returns what was set before.

    The hook is called by whatever thread compiles, background threads included.
    """
    global _hook
    previous, _hook = _hook, hook
    return previous


@contextmanager
def reporting(background: bool = False) -> Iterator[Progress]:
    """What a compilation reports to while the block runs.

    That is the hook; without one a line on stderr, if that is a terminal, nothing is compiled in the background,
    ``BASALT_PROGRESS`` is not 0 and it takes longer than a second.
    """
    if _hook is not None:
        yield _hook
    elif background or os.environ.get("BASALT_PROGRESS", "1") == "0" or not _is_terminal():
        yield _silent
    else:
        line = _Line()
        try:
            yield line
        finally:
            line.clear()


def _silent(done: int, total: int, seconds: float) -> None:
    pass


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


class _Line:
    """One line on stderr that is written over again and vanishes at the end."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def __call__(self, done: int, total: int, seconds: float) -> None:
        now = time.monotonic()
        if now < self._next or done >= total:
            return
        self._next = now + _INTERVAL
        self._shown = True
        self._write(f"\r\x1b[Kbasalt: {done} of {total} kernels are compiled")

    def clear(self) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            # A terminal that went away must not end the compilation.
            pass
