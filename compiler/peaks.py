"""What this machine can do at most: products a second, and bytes a second from each level of memory.

Measured, not looked up: clocks, virtual machines and neighbours decide. A peak is the best of several short tries.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from basalt.runtime.memory import aligned_empty
from basalt.runtime.native import load_object

from .codegen.peak_loops import TRIAD, compile_loops, operations_a_turn

__all__ = ["Peaks", "measure_peaks"]

_TRIES = 7
_SECONDS = 0.01
_SIZES = (192 << 10, 1 << 20, 12 << 20, 192 << 20)
"""Bytes of three arrays together, of each thread: for the first and second level of cache, the third, and memory."""
_SMALL = 1 << 14


@dataclass(frozen=True)
class Peaks:
    """The best speeds of ``threads`` threads together.

    ``operations`` holds operations a second on numbers by data type (a multiplication and an addition are two);
    ``bandwidth`` bytes a second of a sum ``a = b + s * c`` of arrays that take so many bytes together, smallest first.
    """

    threads: int
    operations: Mapping[str, float]
    bandwidth: tuple[tuple[int, float], ...]

    @property
    def memory(self) -> float:
        """Bytes a second of arrays larger than the caches."""
        return self.bandwidth[-1][1]

    def bandwidth_for(self, nbytes: int) -> float:
        """Bytes a second for data of this size, should it be in a cache that can hold it."""
        for size, speed in self.bandwidth:
            if nbytes <= size:
                return speed
        return self.memory

    def seconds(self, operations: int, nbytes: int, dtype: str) -> float:
        """The least time for work of this size (the roofline of Williams, Waterman and Patterson, 2009)."""
        compute = operations / self.operations.get(dtype, self.operations["float32"])
        return max(compute, nbytes / self.bandwidth_for(nbytes))


def measure_peaks(threads: int = 1, progress: Callable[[int, int], None] = lambda done, total: None) -> Peaks:
    """Measures; takes about a second.

    Args:
        threads: threads that compute at once.
        progress: told how many of how many measurements are done.
    """
    image = load_object(compile_loops())
    loops = operations_a_turn()
    total = len(loops) + len(_SIZES)
    operations = {}
    for name, count in loops.items():
        operations[name] = _arithmetic(_function(image, name, 2), count, threads)
        progress(len(operations), total)
    bandwidth = []
    for size in _SIZES:
        bandwidth.append((size * threads, _triad(_function(image, TRIAD, 4), size, threads)))
        progress(len(operations) + len(bandwidth), total)
    return Peaks(threads, operations, tuple(bandwidth))


def _function(image: Any, name: str, arguments: int) -> Callable[..., None]:
    """A loaded loop, kept alive by the function that calls it; the GIL is free while it runs."""
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arguments)
    call = kind(image.address(name))
    call.image = image  # type: ignore[attr-defined]
    return call


def _arithmetic(loop: Callable[..., None], operations: int, threads: int) -> float:
    buffers = [aligned_empty(_SMALL) for _ in range(threads)]
    for buffer in buffers:
        buffer[:] = 0
    addresses = [buffer.ctypes.data for buffer in buffers]

    def seconds(turns: int) -> float:
        return _seconds(lambda i: loop(addresses[i], turns), threads)

    turns = 1 << 10
    while seconds(turns) < _SECONDS:
        turns *= 2
    return threads * turns * operations / min(seconds(turns) for _ in range(_TRIES))


def _triad(loop: Callable[..., None], nbytes: int, threads: int) -> float:
    count = nbytes // 12 // 64 * 64
    arrays = [[aligned_empty(4 * count) for _ in range(3)] for _ in range(threads)]
    for array in (a for three in arrays for a in three):
        array[:] = 0
    repeats = max(1, int(_SECONDS * 2e10 / nbytes))

    def run(i: int) -> None:
        addresses = [a.ctypes.data for a in arrays[i]]
        for _ in range(repeats):
            loop(*addresses, count)

    best = min(_seconds(run, threads) for _ in range(_TRIES))
    return threads * repeats * 12 * count / best


def _seconds(work: Callable[[int], None], threads: int) -> float:
    """From the first start to the last end of ``work(i)`` for each thread, which begin together."""
    if threads == 1:
        start = time.perf_counter()
        work(0)
        return time.perf_counter() - start
    gate = threading.Barrier(threads)
    spans = np.zeros((threads, 2))

    def member(i: int) -> None:
        gate.wait()
        spans[i, 0] = time.perf_counter()
        work(i)
        spans[i, 1] = time.perf_counter()

    team = [threading.Thread(target=member, args=(i,)) for i in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    return float(spans[:, 1].max() - spans[:, 0].min())
