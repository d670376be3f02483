"""Our own threads, in place of a threading layer of Numba's: started here, run by the executor's machine code.

They never touch Python. Once started they live as long as the process, and so must all that they read.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from .environment import environment
from .executor import Executor
from .layout import WORD, Env, Pool
from .memory import function_address

__all__ = ["OwnThreads"]

_SPINS = 2000
"""Looks at the launches, some ten microseconds to a hundred, before a worker goes to sleep."""
_LOCK_BYTES = 256
"""More than a mutex or a condition takes on any system."""
_LINE = 64
_FAULTS = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGTRAP")


class OwnThreads:
    """A threading layer (compare :class:`.layers.Layer`) whose functions are those of an executor."""

    name = "basalt"
    is_own: Literal[True] = True
    exclusive = False
    max_threads: int | None = None

    def __init__(self, executor: Executor) -> None:
        """Raises AttributeError or OSError where the system's functions are missing."""
        self.parallel_for = executor.parallel_for
        self._system: _Posix | _Windows = _Windows() if sys.platform == "win32" else _Posix()
        self._worker = executor.worker
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(executor))  # its code is never to go
        self._most = max(16, 4 * (os.cpu_count() or 1)) - 1
        self._workers = 0
        self._block = _lasting_words(Pool.WORDS)
        self._locks = _lasting_words(2 * _LOCK_BYTES // WORD)
        self._fill()

    def _fill(self) -> None:
        self._block[:] = 0
        self._locks[:] = 0
        mutex = self._locks.ctypes.data
        condition = mutex + _LOCK_BYTES
        self._system.initialise(mutex, condition)
        self._block[: Pool.WAKE + 1] = self._system.functions
        self._block[Pool.MUTEX], self._block[Pool.CONDITION] = mutex, condition
        self._block[Pool.SPINS] = _SPINS
        environment()[0][Env.POOL] = self._block.ctypes.data

    def grow(self, threads: int) -> None:
        """Starts workers until there are enough for a team of so many, or as many as the system allows."""
        missing = min(threads - 1, self._most) - self._workers
        if missing <= 0:
            return
        with _signals_blocked():
            for _ in range(missing):
                if not self._system.start(self._worker, self._block.ctypes.data):
                    self._most = self._workers
                    return
                self._workers += 1

    def after_fork_in_child(self) -> None:
        """The child has none of the threads; what they held is as it was at some moment."""
        self._workers = 0
        self._fill()


class _Posix:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        names = ("pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_signal")
        self.functions = [function_address(getattr(self._libc, name)) for name in names]
        self._create, self._detach = self._libc.pthread_create, self._libc.pthread_detach
        self._create.argtypes = [ctypes.c_void_p] * 4
        self._detach.argtypes = [ctypes.c_void_p]

    def initialise(self, mutex: int, condition: int) -> None:
        self._libc.pthread_mutex_init(ctypes.c_void_p(mutex), None)
        self._libc.pthread_cond_init(ctypes.c_void_p(condition), None)

    def start(self, function: int, argument: int) -> bool:
        thread = ctypes.c_void_p()
        if self._create(ctypes.addressof(thread), None, function, argument) != 0:
            return False
        self._detach(thread)
        return True


class _Windows:
    def __init__(self) -> None:
        self._kernel32: Any = ctypes.CDLL("kernel32")
        names = ("AcquireSRWLockExclusive", "ReleaseSRWLockExclusive", "SleepConditionVariableSRW")
        self.functions = [function_address(getattr(self._kernel32, name)) for name in (*names, "WakeConditionVariable")]
        self._create, self._close = self._kernel32.CreateThread, self._kernel32.CloseHandle
        self._create.restype = ctypes.c_void_p
        self._create.argtypes = [*[ctypes.c_void_p] * 4, ctypes.c_uint32, ctypes.c_void_p]
        self._close.argtypes = [ctypes.c_void_p]

    def initialise(self, mutex: int, condition: int) -> None:
        """Zeros are a free lock and a condition that nobody waits for."""

    def start(self, function: int, argument: int) -> bool:
        handle = self._create(None, None, function, argument, 0, None)
        if not handle:
            return False
        self._close(handle)
        return True


def _lasting_words(count: int) -> np.ndarray:
    """Zeros (int64) that start at a cache line and are never freed."""
    allocate = ctypes.pythonapi.PyMem_RawCalloc
    allocate.restype = ctypes.c_void_p
    allocate.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    address = allocate(count * WORD + _LINE, 1)
    if not address:
        raise MemoryError(f"no memory for {count} words")
    start = -(-address // _LINE) * _LINE
    return np.frombuffer(memoryview((ctypes.c_int64 * count).from_address(start)), np.int64)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Threads that start meanwhile leave all signals to those of Python, whose sleep a signal is to end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    faults = {getattr(signal, name) for name in _FAULTS if hasattr(signal, name)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.valid_signals()) - faults)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
