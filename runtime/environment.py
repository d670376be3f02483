"""The process's block of addresses and offsets that the executor reads, and whether NumPy's arrays look as expected."""

from __future__ import annotations

import ctypes
import sys
import threading

import numpy as np

from .deadlines import find_clock
from .layout import OBJECT_HEADS, Array, Env
from .memory import aligned_words, function_address

__all__ = ["ALIGNED", "C_CONTIGUOUS", "WRITEABLE", "environment", "set_parallel_for"]

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x001, 0x100, 0x400  # NumPy's flags


_lock = threading.Lock()
_found: tuple[np.ndarray, bool] | None = None


def environment() -> tuple[np.ndarray, bool]:
    """The block (int64, ``Env.WORDS`` of them), and whether the executor can read arrays and tuples by itself.

    On a Python or NumPy whose objects are laid out otherwise it cannot; then Python reads the addresses for it.
    """
    global _found
    with _lock:  # two blocks would be two truths about the threads
        if _found is None:
            _found = _block(), _objects_are_as_expected()
        return _found


def _block() -> np.ndarray:
    block = aligned_words(Env.WORDS)
    block[Env.YIELD] = _yield_address()
    block[Env.SAVE_THREAD] = function_address(ctypes.pythonapi.PyEval_SaveThread)
    block[Env.RESTORE_THREAD] = function_address(ctypes.pythonapi.PyEval_RestoreThread)
    block[Env.ARRAY_TYPE] = id(np.ndarray)
    block[Env.TUPLE_ITEMS] = tuple.__basicsize__
    block[Env.OBJECT_HEAD] = object.__basicsize__
    block[Env.TRUE] = id(True)
    block[Env.LONG_FROM] = function_address(ctypes.pythonapi.PyLong_FromLongLong)
    block[Env.CLOCK : Env.CLOCK_TICK + 1] = find_clock() or (0, 0, 0)
    return block


def set_parallel_for(address: int) -> None:
    """Makes the executor launch its threads by ``address``, Numba's ``parallel_for`` of some threading layer."""
    environment()[0][Env.PARALLEL_FOR] = address


def _yield_address() -> int:
    if sys.platform == "win32":
        return function_address(ctypes.CDLL("kernel32").SwitchToThread)
    return function_address(ctypes.CDLL(None).sched_yield)


def _objects_are_as_expected() -> bool:
    if sys.implementation.name != "cpython":
        return False
    head = object.__basicsize__
    if head not in OBJECT_HEADS:
        return False
    if np.ndarray.__basicsize__ < head + 8 * (Array.FLAGS + 1) or tuple.__itemsize__ != 8:
        return False
    arrays = (np.zeros((2, 3), np.float32), np.zeros((), np.int64), np.zeros((4, 2, 5), np.int8)[:, ::2])
    items = [_word(id(arrays) + tuple.__basicsize__ + 8 * i) for i in range(len(arrays))]
    return items == [id(a) for a in arrays] and all(_matches(a, id(a) + head) for a in arrays)


def _matches(array: np.ndarray, body: int) -> bool:
    sizes = _word(body + 8 * Array.DIMS)
    return (
        _word(body - 8) == id(type(array))
        and _word(body + 8 * Array.DATA) == array.ctypes.data
        and _half(body + 8 * Array.RANK) == array.ndim
        and all(_word(sizes + 8 * axis) == size for axis, size in enumerate(array.shape))
        and _word(body + 8 * Array.DTYPE) == id(array.dtype)
        and _half(body + 8 * Array.FLAGS) & 0x501 == array.flags.num & 0x501
    )


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _half(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value
