"""The executor's machine code as Python functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from .environment import environment
from .layout import CALL_SYMBOL, EXECUTE_SYMBOL, PARALLEL_SYMBOL, WORKER_SYMBOL
from .native import Image, load_object

__all__ = ["Entry", "Executor"]

Entry = Callable[[tuple, tuple, bool], int]
"""``entry(inputs, outputs, given) -> status``: binds two tuples of arrays to a frame, then runs its rows with the GIL
released. ``given`` is True if the outputs are the caller's own, which may overlap.
"""

_METH_FASTCALL = 0x0080
_EXECUTE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Executor:
    """Loaded executor; keeps its code in memory while it lives, so it must outlive the entries that it makes.

    ``execute(frame address)`` runs the rows of a frame whose arrays are bound already, with the GIL released. For
    results see :class:`basalt.runtime.layout.Status`. ``parallel_for`` and ``worker`` are the addresses of what our own
    threads are made of.
    """

    def __init__(self, image: Image, prefix: str = "", code: bytes = b"") -> None:
        """``image`` holds the executor's functions, whose names begin with ``prefix``; ``code`` is its object code, if
        it comes from one.
        """
        self.code = code
        self._image = image
        self.nbytes = image.nbytes
        self.parallel_for = image.address(prefix + PARALLEL_SYMBOL)
        self.worker = image.address(prefix + WORKER_SYMBOL)
        self.execute: Callable[[int], int] = _EXECUTE(image.address(prefix + EXECUTE_SYMBOL))
        self._method: _MethodDef | None = None
        if environment()[1]:
            address = image.address(f"{prefix}{CALL_SYMBOL}_{object.__basicsize__}")
            self._method = _MethodDef(CALL_SYMBOL.encode(), address, _METH_FASTCALL, None)

    @classmethod
    def from_object(cls, code: bytes) -> Executor:
        """The executor in object code."""
        return cls(load_object(code), code=code)

    def entry(self, words: np.ndarray) -> Entry | None:
        """A builtin function that runs the frame in ``words``, at a fraction of the cost of a call by ctypes.

        None where the executor cannot read this Python's objects; then bind in Python and call ``execute``.
        """
        if self._method is None:
            return None
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        entry: Entry = make(ctypes.addressof(self._method), words, None)
        return entry
