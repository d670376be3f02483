"""Deadlines of runs: Python's side of the clock that the executor looks at."""

from __future__ import annotations

import ctypes
import math
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from basalt.errors import ValidationError

from .memory import function_address

if TYPE_CHECKING:
    from .schedule import Timing

__all__ = ["Clock", "deadline_after", "find_clock", "grains", "now"]

GRAIN = 1e6
"""Nanoseconds of estimated work between two looks at the clock, in rows that can be cut."""
_FARTHEST = 1 << 62

now = time.perf_counter_ns if sys.platform == "win32" else time.monotonic_ns
"""Nanoseconds of the clock that the executor looks at."""


class Clock(NamedTuple):
    """A clock for machine code: ``function(identity, words)`` gives ``words[0] * tick + words[1]`` nanoseconds.

    With an identity of 0 the function takes the words only.
    """

    function: int
    identity: int
    tick: int


def find_clock() -> Clock | None:
    """The clock of :func:`now`; None if this system has none of a known form."""
    try:
        if sys.platform == "win32":
            kernel32 = ctypes.WinDLL("kernel32")
            frequency = ctypes.c_int64()
            kernel32.QueryPerformanceFrequency(ctypes.byref(frequency))
            tick, rest = divmod(1_000_000_000, frequency.value)
            return None if rest else Clock(function_address(kernel32.QueryPerformanceCounter), 0, tick)
        # On macOS Python reads this one; CLOCK_MONOTONIC there goes on while the machine sleeps.
        identity = getattr(time, "CLOCK_UPTIME_RAW", time.CLOCK_MONOTONIC)
        return Clock(function_address(ctypes.CDLL(None).clock_gettime), identity, 1_000_000_000)
    except (AttributeError, OSError):
        return None


def deadline_after(timeout: Any) -> int:
    """When ``timeout`` seconds from now have passed, in nanoseconds of the clock. ValidationError unless it is > 0."""
    if type(timeout) is float and 0 < timeout < 1e9:
        return now() + int(timeout * 1e9)
    try:
        seconds = math.nan if isinstance(timeout, (bool, str, bytes)) else float(timeout)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not seconds > 0:
        raise ValidationError(f"timeout: {timeout!r} given, expected a number of seconds above 0")
    return now() + int(min(seconds * 1e9, float(_FARTHEST)))


def grains(rows: Iterable[Timing]) -> np.ndarray:
    """For each row how many units to run between two looks at the clock: a multiple of what it may be cut at."""
    return np.array([_grain(row) for row in rows], np.int64)


def _grain(row: Timing) -> int:
    units = max(row.stop - row.start, 1)
    if row.serial or row.cost <= GRAIN:
        return units
    return max(int(units * (GRAIN / row.cost)) // row.min_chunk, 1) * row.min_chunk
