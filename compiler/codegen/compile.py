"""Kernels to machine code: from memory, from disk, or compiled now. Imports llvmlite only if it must compile."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from basalt.errors import UnsupportedError
from basalt.runtime.code import LoadedCode, LoadedKernel
from basalt.runtime.executor import Executor
from basalt.runtime.kernel_cache import CACHE
from basalt.runtime.spec import KernelCode

from ..kernels.target import compiling_for, target
from .fingerprint import executor_key, kernel_key
from .interrupts import deferred_interrupt
from .workers import workers_for

__all__ = [
    "Progress",
    "compile_kernel",
    "compile_objects",
    "executor_object",
    "load_executor",
    "load_kernels",
    "missing",
]

Progress = Callable[[int, int, float], None]
"""``progress(done, total, seconds)``: kernels ready, kernels of the program, time that the last one took to compile."""

_Made = TypeVar("_Made")

_executor: Executor | None = None
_executor_lock = threading.Lock()


def compile_kernel(code: KernelCode) -> bytes:
    """Compiles a kernel for the current target, whatever the caches hold, and returns its object code.

    Raises BasaltError with the kernel's label and source, chained to the compiler's error. An interrupt (Ctrl-C) that
    arrives meanwhile is raised afterwards.
    """
    with deferred_interrupt():
        from .object_code import compile_source

        return compile_source(code)


def load_kernels(codes: Sequence[KernelCode], progress: Progress | None = None) -> LoadedCode:
    """The kernels as callable machine code, in the order of ``codes``, with the executor.

    Where many are missing, worker processes compile some (:mod:`.workers`). ``progress`` is called after each kernel
    that had to be compiled; those found in a cache count as done before.
    Raises BasaltError for a kernel that does not compile; kernels compiled before it stay cached. Raises
    UnsupportedError where the current target is not this machine, which may lack its instructions.
    """
    require_native("load kernels")

    def take(code: KernelCode) -> LoadedKernel:
        return CACHE.kernel(kernel_key(code), functools.partial(compile_kernel, code), code.label)

    return LoadedCode(load_executor(), _each(codes, take, progress))


def compile_objects(codes: Sequence[KernelCode], target_name: str, progress: Progress | None = None) -> list[bytes]:
    """The object code of kernels, in the order of ``codes``; none of it is loaded into this process.

    Args:
        codes: kernels that were written for this target (see :func:`basalt.compiler.kernels.target.compiling_for`).
        target_name: ``native``, or a level such as ``x86-64-v3``.
        progress: as for :func:`load_kernels`, as are the caches and the worker processes.

    Raises:
        ValidationError: for a target that does not exist.
        UnsupportedError: for a level of another architecture than this machine's.
        BasaltError: for a kernel that does not compile.
    """

    def take(code: KernelCode) -> bytes:
        return CACHE.code(kernel_key(code), functools.partial(compile_kernel, code))

    with compiling_for(target_name):
        return _each(codes, take, progress)


def require_native(what: str) -> None:
    """Raise UnsupportedError, naming ``what`` cannot be done, unless the current target is this machine."""
    goal = target()
    if not goal.is_native:
        raise UnsupportedError(f"cannot {what} while compiling for {goal.name}: this machine may lack its instructions")


def _each(codes: Sequence[KernelCode], take: Callable[[KernelCode], _Made], progress: Progress | None) -> list[_Made]:
    """What ``take`` gives for each kernel from the cache, in order; kernels that it lacks are compiled."""
    found: dict[str, _Made] = {}
    absent: list[KernelCode] = []
    distinct = {code.key: code for code in codes}
    for code in distinct.values():
        if CACHE.has(kernel_key(code)):
            found[code.key] = take(code)
        else:
            absent.append(code)
    _compile_all(absent, found, take, len(distinct), progress or _say_nothing)
    return [found[code.key] for code in codes]


def _compile_all(
    absent: Sequence[KernelCode],
    found: dict[str, _Made],
    take: Callable[[KernelCode], _Made],
    total: int,
    progress: Progress,
) -> None:
    """Compile kernels here and in workers, and add them to ``found`` by key."""
    done, told = len(found), 0
    with workers_for(absent, CACHE.keep) as workers:
        for code in workers.remaining():
            start = time.perf_counter()
            found[code.key] = take(code)
            newly = [time.perf_counter() - start, *workers.seconds[told:]]
            told += len(newly) - 1
            for seconds in newly:
                done += 1
                progress(done, total, seconds)
    for code in absent:
        if code.key not in found:
            found[code.key] = take(code)
    for seconds in workers.seconds[told:]:
        done += 1
        progress(done, total, seconds)


def _say_nothing(done: int, total: int, seconds: float) -> None:
    pass


def missing(codes: Iterable[KernelCode]) -> int:
    """How many different kernels of ``codes`` would have to be compiled for the current target; compiles none."""
    return sum(not CACHE.has(kernel_key(code)) for code in {code.key: code for code in codes}.values())


def load_executor() -> Executor:
    """The process's executor, compiled the first time a machine needs it."""
    global _executor
    with _executor_lock:
        if _executor is None:
            _executor = Executor.from_object(executor_object())
        return _executor


def executor_object() -> bytes:
    """The executor's object code: the same for all targets of an architecture."""
    return CACHE.code(executor_key(), _compile_executor)


def _compile_executor() -> bytes:
    with deferred_interrupt():
        from .executor import compile_executor

        return compile_executor()
