"""Kernels to loaded machine code: from memory, from disk, or compiled now. Imports Numba only if it must compile."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from basalt.runtime.code import LoadedCode, LoadedKernel
from basalt.runtime.executor import Executor
from basalt.runtime.kernel_cache import CACHE
from basalt.runtime.spec import KernelCode

from .fingerprint import executor_key, kernel_key
from .interrupts import deferred_interrupt
from .workers import workers_for

__all__ = ["Progress", "compile_kernel", "load_executor", "load_kernels", "missing"]

Progress = Callable[[int, int, float], None]
"""``progress(done, total, seconds)``: kernels ready, kernels of the program, time that the last one took to compile."""

_executor: Executor | None = None
_executor_lock = threading.Lock()


def compile_kernel(code: KernelCode) -> bytes:
    """Compiles a kernel, whatever the caches hold, and returns its object code.

    Raises BasaltError with the kernel's label and source, chained to Numba's error. An interrupt (Ctrl-C) that arrives
    meanwhile is raised afterwards.
    """
    with deferred_interrupt():
        from .object_code import compile_source

        return compile_source(code)


def load_kernels(codes: Sequence[KernelCode], progress: Progress | None = None) -> LoadedCode:
    """The kernels as callable machine code, in the order of ``codes``, with the executor.

    Where many are missing, worker processes compile some (:mod:`.workers`). ``progress`` is called after each kernel
    that had to be compiled; those found in a cache count as done before.
    Raises BasaltError for a kernel that does not compile; kernels compiled before it stay cached.
    """
    found: dict[str, LoadedKernel] = {}
    absent: list[KernelCode] = []
    distinct = {code.key: code for code in codes}
    for code in distinct.values():
        key = kernel_key(code)
        if CACHE.has(key):
            found[code.key] = CACHE.kernel(key, functools.partial(compile_kernel, code), code.label)
        else:
            absent.append(code)
    _compile_all(absent, found, len(distinct), progress or _say_nothing)
    return LoadedCode(load_executor(), [found[code.key] for code in codes])


def _compile_all(absent: Sequence[KernelCode], found: dict[str, LoadedKernel], total: int, progress: Progress) -> None:
    """Compile kernels here and in workers, and add them to ``found`` by key."""
    done, told = len(found), 0
    with workers_for(absent, CACHE.keep) as workers:
        for code in workers.remaining():
            start = time.perf_counter()
            found[code.key] = CACHE.kernel(kernel_key(code), functools.partial(compile_kernel, code), code.label)
            newly = [time.perf_counter() - start, *workers.seconds[told:]]
            told += len(newly) - 1
            for seconds in newly:
                done += 1
                progress(done, total, seconds)
    for code in absent:
        if code.key not in found:
            found[code.key] = CACHE.kernel(kernel_key(code), functools.partial(compile_kernel, code), code.label)
    for seconds in workers.seconds[told:]:
        done += 1
        progress(done, total, seconds)


def _say_nothing(done: int, total: int, seconds: float) -> None:
    pass


def missing(codes: Iterable[KernelCode]) -> int:
    """How many different kernels of ``codes`` would have to be compiled; compiles none."""
    return sum(not CACHE.has(kernel_key(code)) for code in {code.key: code for code in codes}.values())


def load_executor() -> Executor:
    """The process's executor, compiled the first time a machine needs it."""
    global _executor
    with _executor_lock:
        if _executor is None:
            _executor = Executor.from_object(CACHE.code(executor_key(), _compile_executor))
        return _executor


def _compile_executor() -> bytes:
    with deferred_interrupt():
        from .executor import compile_executor

        return compile_executor()
