"""Memory for arenas and packed constants: alignment, contents, lifetime."""

from __future__ import annotations

import gc
import mmap
import os

import ml_dtypes
import numpy as np
import pytest

from basalt.runtime import memory
from basalt.runtime.memory import aligned_empty, streamed


@pytest.mark.parametrize("nbytes", [1, 70_000, 3 << 20])
def test_arenas_start_at_lines_or_pages(nbytes: int) -> None:
    block = aligned_empty(nbytes)
    assert block.nbytes == nbytes and block.flags.writeable and block.ctypes.data % 64 == 0
    if nbytes >= 1 << 16:
        assert block.ctypes.data % mmap.PAGESIZE == 0
    block[...] = 7
    assert (block == 7).all()


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0, 3), (3, 5), (400, 301), (3000, 2500)])
def test_streamed_arrays_are_copies(dtype: type, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    copy = streamed(array)
    assert (
        copy.dtype == array.dtype
        and (copy.size == 0 or copy.ctypes.data % 64 == 0)
        and not np.shares_memory(copy, array)
    )
    np.testing.assert_array_equal(copy, array)


def test_streamed_arrays_do_not_overlap_and_outlive_each_other() -> None:
    arrays = [np.full(100_001 + i, i, np.uint8) for i in range(8)]
    copies = [streamed(array) for array in arrays]
    del copies[::2]
    gc.collect()
    more = streamed(np.full(1 << 18, 99, np.uint8))
    assert (more == 99).all()
    for copy, array in zip(copies, arrays[1::2]):
        np.testing.assert_array_equal(copy, array)


def test_without_large_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(memory.mmap, "MADV_HUGEPAGE", raising=False)
    block = aligned_empty(2 << 20)
    assert block.nbytes == 2 << 20 and block.ctypes.data % mmap.PAGESIZE == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_has_its_own_copy() -> None:
    block = aligned_empty(2 << 20)
    block[:4] = 1
    child = os.fork()
    if child == 0:
        block[:4] = 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (block[:4] == 1).all()
