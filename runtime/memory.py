"""Memory for arenas and for blocks that the executor reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .layout import WORD

__all__ = ["aligned_empty", "aligned_words", "aligned_zeros", "usable_constant"]

_LINE, _PAGE = 64, 4096


def aligned_empty(nbytes: int) -> np.ndarray:
    """``nbytes`` bytes (uint8) that start at a cache line, or at a page if they are many; not touched yet."""
    return _aligned(np.empty, nbytes)


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


def usable_constant(array: np.ndarray) -> np.ndarray:
    """The array itself if kernels can read it in place (C-contiguous, aligned, native byte order), else a copy."""
    plain = np.asarray(array)
    if plain.flags.c_contiguous and plain.flags.aligned and plain.dtype.isnative:
        return plain
    copy = aligned_empty(plain.nbytes).view(plain.dtype.newbyteorder("=")).reshape(plain.shape)
    copy[...] = plain
    return copy
