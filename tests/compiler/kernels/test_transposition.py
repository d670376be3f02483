"""Transposition in blocks of registers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.kernels.transposition import block_size

from .loops import Kernel, kernel_of_call


def sizes(bits: int) -> list[tuple[int, int]]:
    """Rows and columns of whole blocks, of parts of blocks, and of both."""
    block = block_size(bits)
    return [(block, block), (1, 1), (block - 1, 2 * block), (2 * block + 3, block + 1), (3, 0)]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_columns_at_equal_distances(bits: int) -> None:
    operands = "target, 3, columns + 2, source, 5, stride, rows, columns"
    kernel = kernel_of_call(f"transpose_{bits}", operands, "target source", "stride rows columns")
    source = np.random.default_rng(1).integers(0, 1 << min(bits, 62), 5000).astype(f"u{bits // 8}")
    for rows, columns in sizes(bits):
        places = 5 + np.arange(columns) * (rows + 4)
        check(kernel, [source, rows + 4], source, places, rows)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_columns_anywhere(bits: int) -> None:
    operands = "target, 3, columns + 2, source, places, rows, columns"
    kernel = kernel_of_call(f"transpose_{bits}_picked", operands, "target source places", "rows columns")
    rng = np.random.default_rng(2)
    source = rng.integers(0, 1 << min(bits, 62), 5000).astype(f"u{bits // 8}")
    for rows, columns in sizes(bits):
        places = rng.integers(0, 5000 - rows, columns)
        check(kernel, [source, places], source, places, rows)


def check(kernel: Kernel, given: list[np.ndarray | int], source: np.ndarray, places: np.ndarray, rows: int) -> None:
    columns = len(places)
    target = np.full(3 + rows * (columns + 2) + 4, 7, source.dtype)
    expected = target.copy()
    matrix = expected[3 : 3 + rows * (columns + 2)].reshape(rows, columns + 2)
    matrix[:, :columns] = source[places[None, :] + np.arange(rows)[:, None]]
    kernel([target, *given, rows, columns], 0, 1)
    np.testing.assert_array_equal(target, expected)
