"""``BASALT_DEBUG``: a comma-separated list of what to do or show beyond the ordinary, read in this one place.

``verify``: check the graph's rules after every pass. ``passes``: print what each pass changed to stderr. ``traceback``:
let the command line show Python's traceback of an error. ``interpret``: run every graph through NumPy, compile nothing.
``perf``, ``gdb``: name kernels to these tools; the runtime looks for them itself, also where there is no compiler.
"""

from __future__ import annotations

import functools
import os
import sys

__all__ = ["FLAGS", "enabled"]

FLAGS = ("verify", "passes", "traceback", "interpret", "perf", "gdb")


def enabled(flag: str) -> bool:
    """Whether ``BASALT_DEBUG`` names a flag. The variable may change while the process runs."""
    return flag in _parse(os.environ.get("BASALT_DEBUG", ""))


@functools.lru_cache(maxsize=8)
def _parse(text: str) -> frozenset[str]:
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    for word in sorted(words.difference(FLAGS)):
        print(f"basalt: BASALT_DEBUG: {word!r} is unknown, expected some of {', '.join(FLAGS)}", file=sys.stderr)
    return words
