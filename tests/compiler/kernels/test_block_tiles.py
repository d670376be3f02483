"""Micro-kernels for products with integers in blocks, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.kernels import block_dots, block_tiles
from basalt.compiler.kernels.target import target
from basalt.compiler.templates.block_products import adds_bytes, factors, packed_words

from .loops import Kernel

LANES = target().lanes(32)


def _weights(columns: int, blocks: int, size: int, bits: int, half: bool) -> tuple[np.ndarray, ...]:
    """Codes, scales and zero points [columns, ...]."""
    rng = np.random.default_rng(columns + bits)
    codes = rng.integers(0, 1 << bits, (columns, blocks * size)).astype(np.uint8)
    scales = rng.uniform(0.5, 1, (columns, blocks)).astype(np.float16 if half else np.float32)
    return codes, scales, rng.integers(0, 1 << bits, (columns, blocks)).astype(np.uint8)


def _product(x: np.ndarray, codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    size = codes.shape[1] // scales.shape[1]
    weights = (codes - np.repeat(zeros, size, 1).astype(float)) * np.repeat(scales, size, 1).astype(float)
    return x.astype(float) @ weights.T


@pytest.mark.parametrize("zero", ["one", "each"])
@pytest.mark.parametrize(
    ("rows", "vectors", "bits", "blocks", "size"),
    [(1, 2, 4, 9, 16), (2, 1, 2, 3, 32), (4, 2, 8, 2, 12), (1, 2, 8, 1, 4)],
)
def test_blocktile(rows: int, vectors: int, bits: int, blocks: int, size: int, zero: str) -> None:
    columns, half = vectors * LANES, blocks == 3
    codes, scales, zeros = _weights(columns, blocks, size, bits, half)
    if zero == "one":
        zeros[:] = 5
    depth = blocks * size
    x = np.random.default_rng(rows).normal(size=(rows, depth)).astype(np.float32)
    sums = x.reshape(rows, blocks, size).sum(-1)
    left = np.concatenate([x * factors(bits, depth), sums], axis=1).astype(np.float32)
    given = "const_f32(5.0)" if zero == "one" else "z, 0"
    kernel = Kernel(f"""
def k(table, start, stop):
    acc = ptr(table, 0)
    x = ptr(table, 1)
    w = ptr(table, 2)
    s = ptr(table, 3)
    z = ptr(table, 4)
    height = par_i64(table, 5)
    for u in range(start, stop):
        blocktile_{rows}x{vectors}x{LANES}_{bits}_{"f16" if half else "f32"}_{zero}(
            acc, 0, {columns}, {rows * columns}, height, x, 0, {depth + blocks}, {depth}, w, 0, s, 0, {given},
            {blocks}, {size * bits // 32})
""")
    words = packed_words(codes, bits, columns)
    expected = _product(x, codes, scales, zeros)
    for height in {rows, 1}:
        acc = np.full((rows + 1, columns), 77, np.float32)
        kernel([acc, left, words, np.ascontiguousarray(scales.T), np.ascontiguousarray(zeros.T), height], 0, 1)
        np.testing.assert_allclose(acc[:height], expected[:height], atol=2e-6 * np.abs(expected).max())
        assert (acc[height:rows] == 77).all()


@pytest.mark.skipif(not adds_bytes(), reason="this CPU does not add up products of bytes")
@pytest.mark.parametrize("zero", ["one", "each"])
@pytest.mark.parametrize(("rows", "blocks", "size", "chunk"), [(1, 3, 32, 32), (3, 2, 96, 32), (5, 5, 16, 16)])
def test_blockdot(rows: int, blocks: int, size: int, chunk: int, zero: str) -> None:
    from basalt.compiler.kernels.target import byte_products

    columns, depth = 2 * LANES, blocks * size
    codes, scales, zeros = _weights(columns, blocks, size, 4, False)
    if zero == "one":
        zeros[:] = 8
    codes[0], codes[1] = 15, 0
    x = np.random.default_rng(rows).normal(size=(rows, depth)).astype(np.float32)
    x[0] = 3
    x[-1, :chunk] = 0
    given = "const_f32(8.0)" if zero == "one" else "z, 0"
    count = depth // chunk
    kernel = Kernel(f"""
def k(table, start, stop):
    acc = ptr(table, 0)
    x = ptr(table, 1)
    w = ptr(table, 2)
    s = ptr(table, 3)
    z = ptr(table, 4)
    q = ptr(table, 5)
    m = ptr(table, 6)
    height = par_i64(table, 7)
    for u in range(start, stop):
        for r in range({rows}):
            blockround_{chunk}(q, r * {depth}, m, r * {2 * count}, x, r * {depth}, {count})
        blockdot_{rows}x2x{LANES}_{chunk}_{byte_products()}_f32_{zero}(
            acc, 0, {columns}, {rows * columns}, height, q, 0, {depth}, m, 0, {2 * count}, w, 0, s, 0, {given},
            {blocks}, {size // chunk})
""")
    top = np.abs(x.reshape(rows, count, chunk)).max(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.where(top > 0, np.rint(x.reshape(rows, count, chunk) * (np.float32(127) / top)), 0)
    rounded = (steps * (top / np.float32(127))).reshape(rows, depth)
    expected = _product(rounded, codes, scales, zeros)
    words, scales, zeros = packed_words(codes, 4, columns), scales.T.copy(), zeros.T.copy()
    for height in {rows, 1}:
        acc = np.full((rows + 1, columns), 77, np.float32)
        q, m = np.zeros((rows, depth), np.int8), np.zeros((rows, 2 * count), np.float32)
        kernel([acc, x, words, scales, zeros, q, m, height], 0, 1)
        np.testing.assert_array_equal(m[:, 1::2], steps.sum(-1))
        np.testing.assert_allclose(acc[:height], expected[:height], atol=2e-6 * np.abs(expected).max())
        assert (acc[height:rows] == 77).all()


@pytest.mark.parametrize("name", ["blocktile_2x2x8_3_f32_one", "blocktile_2x2x8_4_f64_one", "blocktile_2x2"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(KeyError):
        block_tiles.recipe(name)
    with pytest.raises(KeyError):
        block_dots.recipe(name.replace("tile", "dot"))
