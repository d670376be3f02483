"""gdb's interface to code made while a program runs: a list of symbol files in memory, and a function to stop at.

Source: the manual of gdb, "JIT Compilation Interface". Both must be symbols of some library, so one is made for them.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable, Sequence

from .elf_writing import Name, library_file, symbol_file
from .linked import EXECUTE, LinkedImage

__all__ = ["register_symbols"]

_REGISTER, _UNREGISTER = 1, 2
_VERSION = 1
_FUNCTION, _DESCRIPTOR = "__jit_debug_register_code", "__jit_debug_descriptor"


class _Entry(ctypes.Structure):
    """gdb's jit_code_entry."""


_Entry._fields_ = (
    ("next", ctypes.POINTER(_Entry)),
    ("previous", ctypes.POINTER(_Entry)),
    ("file", ctypes.c_char_p),
    ("size", ctypes.c_uint64),
)


class _Descriptor(ctypes.Structure):
    """gdb's jit_descriptor."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.POINTER(_Entry)),
        ("first", ctypes.POINTER(_Entry)),
    )


_lock = threading.RLock()
_entries: list[_Entry] = []


def register_symbols(base: int, image: LinkedImage, names: Sequence[tuple[int, int, str]]) -> Callable[[], None] | None:
    """Tell gdb, now or when it attaches, of functions given as (address, size, name) in an image at ``base``.

    Returns what takes it back; None where it cannot be told.
    """
    library = _library()
    if library is None:
        return None
    code = [area for area in image.areas if area.protection & EXECUTE]
    start = base + code[0].offset if code else base
    symbols = [Name(name, 1, address - start, size) for address, size, name in names]
    offset, size = image.unwind
    # What the file holds must be what is in memory: distances in it were resolved when the image was linked.
    frames = (base + offset, ctypes.string_at(base + offset, size)) if size else None
    file = symbol_file(start, code[0].size if code else 0, symbols, frames)
    entry = _Entry(file=file, size=len(file))
    with _lock:
        if _entries:
            _entries[-1].next, entry.previous = ctypes.pointer(entry), ctypes.pointer(_entries[-1])
        _entries.append(entry)
        _tell(library, _REGISTER, entry)
    return functools.partial(_unregister, library, entry)


def _unregister(library: ctypes.CDLL, entry: _Entry) -> None:
    with _lock:
        index = next(i for i, known in enumerate(_entries) if known is entry)
        del _entries[index]
        if index > 0:
            _entries[index - 1].next = entry.next
        if index < len(_entries):
            _entries[index].previous = entry.previous
        _tell(library, _UNREGISTER, entry)


def _tell(library: ctypes.CDLL, action: int, entry: _Entry) -> None:
    descriptor = _Descriptor.in_dll(library, _DESCRIPTOR)
    descriptor.first = ctypes.pointer(_entries[0]) if _entries else None
    descriptor.relevant = ctypes.pointer(entry)
    descriptor.action = action
    library[_FUNCTION]()


def _unlock() -> None:
    """A child has none of the threads that may have held the lock."""
    global _lock
    _lock = threading.RLock()


@functools.cache
def _library() -> ctypes.CDLL | None:
    """A library with gdb's two symbols, in memory: gdb reads it through /proc while this process lives."""
    code = b"\xc3".ljust(16, b"\xcc")  # ret
    names = (Name(_FUNCTION, 1, 0, 1), Name(_DESCRIPTOR, 2, 0, ctypes.sizeof(_Descriptor), kind=1))
    content = library_file(code, bytes(_Descriptor(version=_VERSION)), names)
    try:
        file = os.memfd_create("basalt-gdb", os.MFD_CLOEXEC)
        os.write(file, content)
        os.register_at_fork(after_in_child=_unlock)
        return ctypes.CDLL(f"/proc/{os.getpid()}/fd/{file}")
    except (OSError, AttributeError) as error:
        print(f"basalt: gdb cannot be told of kernels: {error}", file=sys.stderr)
        return None
