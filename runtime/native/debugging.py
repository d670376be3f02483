"""Names of machine code for perf and gdb, where they are asked for, and its frames for what unwinds the stack."""

from __future__ import annotations

import os
import weakref

from ..layout import KERNEL_SYMBOL
from .images import perf_follows_python
from .linked import LinkedImage

__all__ = ["announce"]


def announce(owner: object, base: int, image: LinkedImage, label: str) -> None:
    """Make code at ``base`` known to tools until ``owner`` goes, as far as somebody asked for it.

    ``label`` is the name of a kernel that was loaded by itself. Never fails: code runs without names too.
    """
    if image.unwind[1]:
        from .unwinding import register_frames

        release = register_frames(base + image.unwind[0])
        if release is not None:
            weakref.finalize(owner, release).atexit = False
    flags = os.environ.get("BASALT_DEBUG", "").replace(" ", "").split(",")
    if "perf" in flags or perf_follows_python():
        from .perf_map import add_to_map

        add_to_map(_named(base, image, label))
    if "gdb" in flags:
        from .gdb import register_symbols

        release = register_symbols(base, image, _named(base, image, label))
        if release is not None:
            weakref.finalize(owner, release).atexit = False


def _named(base: int, image: LinkedImage, label: str) -> list[tuple[int, int, str]]:
    """Address, size and name of every function; names are one printable word each."""
    found = []
    for name, offset, size in image.exports:
        shown = label if label and name == KERNEL_SYMBOL else name
        word = "".join(letter if letter.isprintable() and not letter.isspace() else "_" for letter in shown)
        found.append((base + offset, max(size, 1), f"basalt:{word}"))
    return found
