"""Placing linked machine code in memory."""

from __future__ import annotations

import os
import platform
import sys
from typing import Protocol

import numpy as np

from basalt.errors import BasaltError, UnsupportedError

from .linked import LinkedImage, check_image
from .pages import CodePages
from .symbols import resolve

__all__ = ["HANDLED", "Image", "PlacedImage", "load_image"]

HANDLED = sys.platform == "linux" and platform.machine() == "x86_64"
"""Whether this system takes linked images; elsewhere LLVM loads object files."""

_WORD = 8
_NAMES_SHOWN = 10


class Image(Protocol):
    """Machine code in memory; it stays there as long as this object lives."""

    nbytes: int
    """Bytes of memory that the code takes."""

    def address(self, name: str) -> int:
        """Address of an exported function. Raises BasaltError if there is none of this name."""


def load_image(image: LinkedImage) -> Image:
    """Check a linked image and place it in memory of its own.

    The content is copied, not mapped from its file: addresses in the code differ from process to process, and a file
    that somebody can still write to would change code that was checked already.

    Raises ModelFormatError for damaged data, UnsupportedError where the system is another or forbids executable memory,
    or for code that needs a function outside the allow-list. The image must come from a trusted place: code can do
    anything once it runs.
    """
    if not HANDLED:
        raise UnsupportedError(f"linked machine code is for x86_64 Linux, this is {platform.machine()} {sys.platform}")
    check_image(image)
    return PlacedImage(image)


class PlacedImage:
    """An image in memory that is known to be right."""

    def __init__(self, image: LinkedImage, label: str = "") -> None:
        self._pages = CodePages(image.size)
        base = self._pages.address
        memory = self._pages.array()
        memory[: len(image.content)] = image.content
        _write_words(memory, image.relocations[:, 0], image.relocations[:, 1] + base)
        if image.imports:
            addresses = np.array([resolve(name) for name in image.imports], np.int64)
            places, numbers, addends = image.import_relocations.T
            _write_words(memory, places, addresses[numbers] + addends)
        self._pages.protect(image.areas)
        self._exports = {export.name: base + export.offset for export in image.exports}
        self.nbytes = image.size
        if image.unwind[1] or os.environ.get("BASALT_DEBUG") or perf_follows_python():
            from .debugging import announce

            announce(self, base, image, label)

    def address(self, name: str) -> int:
        try:
            return self._exports[name]
        except KeyError:
            names = sorted(self._exports)
            more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
            raise BasaltError(f"machine code defines no {name!r}, only {names[:_NAMES_SHOWN]}{more}") from None


def perf_follows_python() -> bool:
    """Whether the interpreter was started for perf, by PYTHONPERFSUPPORT or ``-X perf`` (from Python 3.12 on)."""
    active = getattr(sys, "is_stack_trampoline_active", None)
    return active is not None and bool(active())


def _write_words(memory: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """Writes int64 values at places that need not be aligned."""
    words = np.ndarray(len(memory) - _WORD + 1, np.int64, memory, strides=(1,))
    words[places] = values
