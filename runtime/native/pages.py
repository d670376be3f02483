"""Pages for machine code: written first, then made executable, never both at once."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterable

import numpy as np

from basalt.errors import BasaltError, UnsupportedError

from .linked import Area

__all__ = ["CodePages"]

_PRIVATE_ANONYMOUS = 0x8022
_FAILED = ctypes.c_void_p(-1).value


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    c_int = ctypes.c_int
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, c_int, c_int, c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


_LIBC: ctypes.CDLL | None = None


class CodePages:
    """``size`` bytes of fresh zeroed memory at ``address``, freed with the object (not at the process's end)."""

    def __init__(self, size: int) -> None:
        global _LIBC
        if _LIBC is None:
            _LIBC = _libc()
        address = _LIBC.mmap(None, size, 3, _PRIVATE_ANONYMOUS, -1, 0)
        if address is None or address == _FAILED:
            raise BasaltError(f"no memory for {size} bytes of machine code: {os.strerror(ctypes.get_errno())}")
        self.address: int = address
        self.size = size
        # Threads may still run code while the interpreter goes down, so pages are left to the system then.
        weakref.finalize(self, _LIBC.munmap, address, size).atexit = False

    def array(self) -> np.ndarray:
        """The bytes to write to, before they are protected; the caller lets go of it before this object goes."""
        return np.frombuffer((ctypes.c_uint8 * self.size).from_address(self.address), np.uint8)

    def protect(self, areas: Iterable[Area]) -> None:
        """Sets each area's protection. Raises UnsupportedError where the system forbids executable memory."""
        assert _LIBC is not None
        for area in areas:
            if _LIBC.mprotect(self.address + area.offset, area.size, area.protection) != 0:
                raise UnsupportedError(f"the system refuses executable memory: {os.strerror(ctypes.get_errno())}")
