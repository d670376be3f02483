"""Pages for machine code: written first, then made executable, never both at once."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterable

import numpy as np

from basalt.errors import BasaltError, UnsupportedError

from .linked import EXECUTE, READ, WRITE, Area

__all__ = ["CodePages"]

_PRIVATE_ANONYMOUS = 0x22
_POPULATE, _POPULATED = 0x8000, 16 << 20
_PRIVATE_FIXED = 0x12
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
        # The system finds all pages at once in half the time that finding each on its first use takes.
        flags = _PRIVATE_ANONYMOUS | (_POPULATE if size <= _POPULATED else 0)
        address = _LIBC.mmap(None, size, READ | WRITE, flags, -1, 0)
        if address is None or address == _FAILED:
            raise BasaltError(f"no memory for {size} bytes of machine code: {os.strerror(ctypes.get_errno())}")
        self.address: int = address
        self.size = size
        # Threads may still run code while the interpreter goes down, so pages are left to the system then.
        weakref.finalize(self, _LIBC.munmap, address, size).atexit = False

    def array(self) -> np.ndarray:
        """The bytes to write to, before they are protected; the caller lets go of it before this object goes."""
        return np.frombuffer(memoryview((ctypes.c_uint8 * self.size).from_address(self.address)), np.uint8)

    def protect(self, areas: Iterable[Area]) -> None:
        """Sets each area's protection. Raises UnsupportedError where the system forbids executable memory."""
        assert _LIBC is not None
        for area in areas:
            if _LIBC.mprotect(self.address + area.offset, area.size, area.protection) == 0:
                continue
            reason = os.strerror(ctypes.get_errno())
            if not area.protection & EXECUTE or not self._replace(area):
                raise UnsupportedError(f"the system refuses executable memory: {reason}")

    def _replace(self, area: Area) -> bool:
        """Maps the area anew from a file in memory; whether that went well.

        Systems that do not let memory become executable once it was writable may let code be mapped from a file.
        """
        assert _LIBC is not None
        address = self.address + area.offset
        content = memoryview((ctypes.c_uint8 * area.size).from_address(address))
        try:
            file = os.memfd_create("basalt-code", os.MFD_CLOEXEC)
        except (OSError, AttributeError):
            return False
        try:
            if os.write(file, content) != area.size:
                return False
            return bool(_LIBC.mmap(address, area.size, area.protection, _PRIVATE_FIXED, file, 0) == address)
        except OSError:
            return False
        finally:
            os.close(file)
