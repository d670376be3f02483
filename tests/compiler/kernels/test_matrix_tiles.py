"""Micro-kernels that multiply whole tiles, and the splitting of numbers for them, against NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from basalt.compiler.kernels import matrix_tiles, split_layout, splitting
from basalt.compiler.kernels.target import matrix_products, matrix_products_of

from . import loops
from .loops import Kernel

AVX512 = "+avx,+avx2,+avx512f,+avx512vl,+avx512bw,+avx512_vnni"
needs_bytes = pytest.mark.skipif("int8" not in matrix_products(), reason="this CPU does not multiply tiles of bytes")
needs_pieces = pytest.mark.skipif(
    "bfloat16" not in matrix_products(), reason="this CPU does not multiply tiles of bfloat16"
)


@pytest.fixture(autouse=True)
def names_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters have names like primitives here: only what is called is one."""
    monkeypatch.setattr(loops, "NAME", re.compile(r"\b(?:ptr|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?=\()"))


@needs_bytes
@pytest.mark.parametrize(("tile", "heights"), [(16, (16, 5, 1)), (32, (32, 16, 23))])
def test_products_of_bytes_are_exact(tile: int, heights: tuple[int, ...]) -> None:
    depth = 192
    rng = np.random.default_rng(tile)
    right = rng.integers(-128, 128, (depth // 4, 32, 4)).astype(np.int8)
    kernel = Kernel(f"""
def k(table, start, stop):
    acc = ptr(table, 0)
    s = ptr(table, 1)
    v = ptr(table, 2)
    height = par_i64(table, 3)
    amx_configure(min(height, 16))
    for u in range(start, stop):
        amx_bytes_{tile}(acc, 0, 40, 0, height, s, 0, {depth}, v, 0, {depth // 4})
    amx_release()
""")
    for height in heights:
        left = rng.integers(0, 256, (height, depth)).astype(np.uint8)
        left[0], right[:, 0] = 255, -128
        acc = np.full((height + 1, 40), 77, np.int32)
        kernel([acc, left, right, height], 0, 1)
        expected = left.astype(np.int32) @ right.transpose(0, 2, 1).reshape(depth, 32)
        np.testing.assert_array_equal(acc[:height, :32], expected)
        assert (acc[height:] == 77).all() and (acc[:, 32:] == 77).all()


@needs_pieces
@pytest.mark.parametrize(("rows", "depth"), [(16, 64), (5, 7), (16, 100)])
def test_split_products_are_as_exact_as_float32(rows: int, depth: int) -> None:
    rng = np.random.default_rng(depth)
    left = (rng.standard_normal((rows, depth)) * 10.0 ** rng.integers(-6, 6, (rows, depth))).astype(np.float32)
    right = rng.standard_normal((depth, 32)).astype(np.float32)
    kernel, columns, steps = _split_kernel(), split_layout.split_columns(right), split_layout.steps_of(depth)
    pieces, flags = np.full((steps, 3, 16, 32), 0xFFFF, np.uint16), np.full(1, 5, np.int64)
    acc = np.zeros((32, 32), np.float32)
    kernel([acc, left, pieces, columns, flags, rows, depth, steps], 0, 1)
    assert flags[0] == 0
    scale = np.abs(left).astype(np.float64) @ np.abs(right).astype(np.float64)
    error = np.abs(acc[:rows] - left.astype(np.float64) @ right.astype(np.float64)) / scale
    assert error.max() < 4e-7
    assert not acc[rows:16].any(), "rows that are not there are zeros"


@needs_pieces
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 3.4e38])
def test_numbers_that_cannot_be_split_are_told(number: float) -> None:
    rng = np.random.default_rng(3)
    left, right = rng.standard_normal((5, 40)).astype(np.float32), rng.standard_normal((40, 32)).astype(np.float32)
    left[2, 39], right[39, :4] = number, (0, 1, -1, 0.5)
    pieces, flags = np.zeros((2, 3, 16, 32), np.uint16), np.zeros(1, np.int64)
    acc = np.zeros((32, 32), np.float32)
    _split_kernel()([acc, left, pieces, split_layout.split_columns(right), flags, 5, 40, 2], 0, 1)
    assert flags[0] == 1 << 2
    with np.errstate(all="ignore"):
        expected = (left.astype(np.float64) @ right.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(acc[16:21], expected, rtol=1e-4, atol=1e-4)


def _split_kernel() -> Kernel:
    """Splits rows into [2], multiplies the pieces into [0], and the rows as they are into the 16 rows after."""
    return Kernel("""
def k(table, start, stop):
    acc = ptr(table, 0)
    rows_of = ptr(table, 1)
    pieces = ptr(table, 2)
    v = ptr(table, 3)
    flags = ptr(table, 4)
    rows = par_i64(table, 5)
    depth = par_i64(table, 6)
    steps = par_i64(table, 7)
    amx_configure(16)
    for u in range(start, stop):
        flag = split_rows(pieces, 0, rows_of, 0, depth, rows, depth)
        store_i64(flags, 0, flag)
        amx_split_16(acc, 0, 32, pieces, 0, 0, v, 0, steps)
        split_sums(acc, 512, 32, rows_of, 0, depth, rows, v, 0, depth, 1)
    amx_release()
""")


def test_pieces_add_up_to_the_numbers() -> None:
    rng = np.random.default_rng(1)
    array = (rng.standard_normal((37, 45)) * 10.0 ** rng.integers(-20, 20, (37, 45))).astype(np.float32)
    panels = split_layout.split_columns(array)
    assert panels.shape == (2, 2, 3, 16, 32, 2)
    numbers = (panels.astype(np.uint32) << 16).view(np.float32).astype(np.float64).sum(axis=2)
    together = numbers.transpose(1, 2, 4, 0, 3).reshape(64, 64)
    np.testing.assert_array_equal(together[:37, :45], array)
    assert not together[37:].any() and not together[:, 45:].any()


@pytest.mark.parametrize("name", ["amx_bytes_48", "amx_other", "amx_split"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(KeyError):
        matrix_tiles.recipe(name)
    with pytest.raises(KeyError):
        splitting.recipe(name)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (f"{AVX512},+amx_tile,+amx_int8,+amx_bf16", {"int8", "bfloat16"}),
        (f"{AVX512},+amx-tile,+amx-int8,-amx-bf16", {"int8"}),
        (f"{AVX512},+amx-int8,+amx-bf16", set()),
        ("+avx,+avx2,+amx-tile,+amx-int8,+amx-bf16", set()),
        ("", set()),
    ],
)
def test_what_is_multiplied_follows_the_cpu(features: str, expected: set[str]) -> None:
    assert matrix_products_of(features, "x86_64-linux") == expected
