"""Memory for arenas and for blocks that the executor reads."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .layout import WORD

__all__ = ["aligned_empty", "aligned_words", "aligned_zeros", "function_address", "streamed", "usable_constant"]

_LINE, _PAGE, _LARGE_PAGE = 64, 4096, 2 << 20
_SLAB = 16 << 20
"""Bytes of the blocks of memory that large constants share."""
_LEAST_STREAMED = 1 << 16
_LEAST_LARGE = 1 << 20
"""Bytes from which on memory is worth large pages: a stream through small ones runs at two thirds of the speed."""


def function_address(function: Any) -> int:
    """Where a function of ctypes is; 0 for a null pointer."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def aligned_empty(nbytes: int) -> np.ndarray:
    """``nbytes`` bytes (uint8) that start at a cache line, or at a page if they are many; not touched yet."""
    return _aligned(np.empty, nbytes) if nbytes < _LEAST_LARGE else _large(nbytes)


def aligned_zeros(nbytes: int) -> np.ndarray:
    """:func:`aligned_empty`, but zeros. Of many, the system gives each page when it is first touched."""
    return _aligned(np.zeros, nbytes)


def _aligned(make: Callable[..., np.ndarray], nbytes: int) -> np.ndarray:
    alignment = _PAGE if nbytes >= 16 * _PAGE else _LINE
    raw = make(nbytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + nbytes]


def aligned_words(count: int) -> np.ndarray:
    """``count`` zeros (int64) that start at a cache line."""
    return aligned_zeros(count * WORD).view(np.int64)


class _Slabs(threading.local):
    """The block of memory from which the next large constants of a thread are cut."""

    free: np.ndarray = np.empty(0, np.uint8)

    def take(self, nbytes: int) -> np.ndarray:
        size = -(-nbytes // _LINE) * _LINE
        if size > self.free.nbytes:
            self.free = _large(max(size, _SLAB))
        taken, self.free = self.free[:nbytes], self.free[size:]
        return taken


_SLABS = _Slabs()


def streamed(array: np.ndarray) -> np.ndarray:
    """A copy of an array that is often read from end to end (packed weights): at a cache line, if large in large pages.

    Such arrays share blocks of memory, which live as long as one of them does.
    """
    if array.nbytes < _LEAST_STREAMED:
        place = aligned_empty(array.nbytes)
    else:
        place = _SLABS.take(array.nbytes)
    copy = place.view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _large(nbytes: int) -> np.ndarray:
    """``nbytes`` bytes in large pages, where Linux has them, that are this process's alone after a fork."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return _aligned(np.empty, nbytes)
    pages = mmap.mmap(-1, nbytes + _LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # A system without large pages refuses.
    with contextlib.suppress(OSError):
        pages.madvise(mmap.MADV_HUGEPAGE)
    raw = np.frombuffer(pages, np.uint8)
    start = -raw.ctypes.data % _LARGE_PAGE
    return raw[start : start + nbytes]


def usable_constant(array: np.ndarray) -> np.ndarray:
    """The array itself if kernels can read it in place (C-contiguous, aligned, native byte order), else a copy."""
    plain = np.asarray(array)
    if plain.flags.c_contiguous and plain.flags.aligned and plain.dtype.isnative:
        return plain
    copy = aligned_empty(plain.nbytes).view(plain.dtype.newbyteorder("=")).reshape(plain.shape)
    copy[...] = plain
    return copy
