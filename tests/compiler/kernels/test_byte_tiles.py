"""Micro-kernels for products of bytes: every form against NumPy, also with fewer rows than the tile has."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.compiler.kernels import byte_tiles
from basalt.compiler.kernels.target import byte_products, byte_products_of, target
from basalt.compiler.templates.byte_packing import bounded

from .loops import Kernel

LANES = target().lanes(32)
FORMS = [form for form in ("vnni", "pairs", "plain") if form != "vnni" or byte_products() == "vnni"]
if byte_products() == "plain":
    FORMS = ["plain"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("rows", "vectors", "depth", "extreme"), [(1, 1, 0, False), (5, 2, 3, False), (4, 3, 41, True)]
)
def test_sums_are_exact(form: str, rows: int, vectors: int, depth: int, extreme: bool) -> None:
    rng = np.random.default_rng(rows)
    columns = vectors * LANES
    low, kind = (-255, np.int16) if form == "pairs" else (0, np.uint8)
    left = rng.integers(low, 256, (rows, 4 * depth + 3)).astype(kind)
    right = rng.integers(-128, 128, (4 * depth, columns)).astype(np.int8)
    if extreme:
        left[0], left[-1], right[:, 0], right[:, 1] = 255, low, -128, 127
    parts = 2 if form == "pairs" else 1
    panel = np.ascontiguousarray(right.reshape(depth, parts, 4 // parts, columns).swapaxes(2, 3))
    name = f"bytetile_{rows}x{vectors}x{LANES}_{form}"
    source = f"""
def k(table, start, stop):
    acc = ptr(table, 0)
    s = ptr(table, 1)
    v = ptr(table, 2)
    rows = par_i64(table, 3)
    depth = par_i64(table, 4)
    for u in range(start, stop):
        {name}(acc, 0, {columns}, {rows * columns}, rows, s, 0, {4 * depth + 3}, v, 0, depth)
"""
    kernel = Kernel(source)
    expected = left[:, : 4 * depth].astype(np.int32) @ right.astype(np.int32)
    for height in {rows, 1, (rows + 1) // 2}:
        acc = np.full((rows + 1, columns), 77, np.int32)
        kernel([acc, left, panel, height, depth], 0, 1)
        np.testing.assert_array_equal(acc[:height], expected[:height])
        assert (acc[height:rows] == 77).all()


def test_the_instruction_is_used() -> None:
    if byte_products() != "vnni":
        pytest.skip("this CPU has no vpdpbusd")
    lines = ["def k(table, start, stop):", "    acc = ptr(table, 0)"]
    lines.append(f"    bytetile_2x1x{LANES}_vnni(acc, 0, {LANES}, {2 * LANES}, 2, acc, 0, 4, acc, 0, 9)")
    assert "vpdpbusd" in Kernel("\n".join(lines) + "\n").assembly


@pytest.mark.skipif(byte_products() != "pairs" or LANES < 8, reason="this CPU adds up products otherwise")
@pytest.mark.parametrize(("form", "steps"), [("quads", 1), ("eights", 2)])
@pytest.mark.parametrize(("rows", "depth", "wild"), [(1, 0, 1.0), (4, 6, 0.1), (5, 22, 1.0), (3, 40, 0.0)])
def test_sums_in_sixteen_bits_are_exact(form: str, steps: int, rows: int, depth: int, wild: float) -> None:
    rng = np.random.default_rng(depth)
    columns = 2 * LANES
    left = rng.integers(0, 256, (rows, 4 * depth)).astype(np.uint8)
    left[0] = 255
    right = rng.integers(-20, 21, (4 * depth, columns)).astype(np.int8)
    far = rng.random(right.shape) < wild
    right[far] = rng.choice(np.array([-128, -127, 127], np.int8), far.sum())
    panels = np.ascontiguousarray(right.reshape(1, depth, 4, columns).swapaxes(2, 3))
    found = bounded(panels, steps)
    source = f"""
def k(table, start, stop):
    acc = ptr(table, 0)
    s = ptr(table, 1)
    v = ptr(table, 2)
    x = ptr(table, 3)
    p = ptr(table, 4)
    last = par_i64(table, 5)
    depth = par_i64(table, 6)
    for u in range(start, stop):
        bytetile_{rows}x2x{LANES}_{form}(acc, 0, {columns}, 0, {rows}, s, 0, {4 * depth}, v, 0, depth, x, p, 0, last)
"""
    acc = np.zeros((rows + 1, columns), np.int32)
    Kernel(source)([acc, left, found.panels, found.excess, found.places, found.places.size, depth], 0, 1)
    np.testing.assert_array_equal(acc[:rows], left.astype(np.int32) @ right.astype(np.int32))


@pytest.mark.parametrize(
    "name", ["bytetile_2x2x7_pairs", "bytetile_2x2x4_quads", "bytetile_2x2x16_other", "bytetile_2x2"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(KeyError):
        byte_tiles.recipe(name)


@pytest.mark.parametrize(
    ("features", "triple", "form"),
    [
        ("+avx,+avx2,+avx512f,+avx512vl,+avx512bw,+avx512vnni", "x86_64-linux", "vnni"),
        ("+avx,+avx2,+avx512f,+avx512vl,+avx512bw,+avx512_vnni", "x86_64-linux", "vnni"),
        ("+avx,+avx2,+avx_vnni", "x86_64-linux", "vnni"),
        ("+avx,+avx2,+avx512f,+avx512vl,+avx512bw", "x86_64-linux", "pairs"),
        ("+avx,+avx2,-avx512vnni", "x86_64-unknown-linux-gnu", "pairs"),
        ("+avx", "x86_64-linux", "plain"),
        ("+sse2", "x86_64-linux", "pairs"),
        ("+neon", "aarch64-linux", "plain"),
    ],
)
def test_the_form_follows_the_cpu(features: str, triple: str, form: str) -> None:
    assert byte_products_of(features, triple) == form
