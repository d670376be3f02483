"""Micro-kernels of products against NumPy: every number of rows and columns, part of the depth after part."""

from __future__ import annotations

import re

import numpy as np
import pytest

from basalt.compiler.kernels import product_tiles
from basalt.compiler.kernels.namespace import recipe

from . import loops
from .loops import Kernel

STEPS = (0, 1, 3, 4, 37)


@pytest.fixture(autouse=True)
def names_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters have names like primitives here: only what is called is one."""
    monkeypatch.setattr(loops, "NAME", re.compile(r"\b(?:ptr|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?=\()"))


def kernel(name: str, operands: str) -> Kernel:
    """A call of a micro-kernel whose operands are those of the table, then the source ``operands``."""
    numbers = ("s_row", "s_step", "v_step", "depth", "first", "last", "rows", "columns", "pitch")
    lines = [f"    {n} = par_i64(table, {i})" for i, n in enumerate(numbers, 4)]
    return Kernel(
        "def k(table, start, stop):\n"
        + "".join(f"    {n} = ptr(table, {i})\n" for i, n in enumerate(("block", "s", "v", "y")))
        + "\n".join(lines)
        + f"\n    for u in range(start, stop):\n        {name}(block, s, 0, s_row, s_step, v, 0, v_step, depth, "
        f"first, last, rows, columns, 0, 0, 4, {operands})\n"
    )


def aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    raw = np.zeros(int(np.prod(shape)) * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + raw.size - 64].view(dtype).reshape(shape)


@pytest.mark.parametrize(
    ("size", "walk"), [((6, 2, 8), "upn"), ((3, 2, 4), "ap"), ((1, 2, 8), "up"), ((5, 1, 8), "um")]
)
@pytest.mark.parametrize(("suffix", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_sums_and_their_finish(size: tuple[int, int, int], walk: str, suffix: str, dtype: type) -> None:
    """A sum in two parts of the depth, with a bias, at full and partial tiles; nothing beyond is written."""
    height, vectors, lanes = size
    width = vectors * lanes
    name = f"product_{height}x{vectors}x{lanes}_{suffix}_{suffix}_{suffix}_{walk}_c_add_0_1_y_2"
    compiled = kernel(name, "v, 0, y, 0, pitch")
    rng = np.random.default_rng(height)
    for depth in STEPS:
        for rows in range(1, height + 1):
            for columns in (1, width - 1, width):
                pitch = width + 3 if walk[1] == "m" else width
                step = 1 if walk[0] == "u" else height
                s = rng.standard_normal((height, 40)).astype(dtype)
                seen = s if step == 1 else np.ascontiguousarray(s.T)
                v = rng.standard_normal((40, pitch)).astype(dtype)
                y = np.full((height, width), 7, dtype)
                block = aligned((height, width), dtype)
                strides = [40 if step == 1 else 1, step, pitch]
                half = depth // 2
                compiled([block, seen, v, y, *strides, half, 1, 0, rows, columns, width], 0, 1)
                assert (y == 7).all()
                later, below = seen.reshape(-1)[half * step :], v[half:]
                rest = [*strides, depth - half, 0, 1, rows, columns, width]
                compiled([block, later, below, y, *rest], 0, 1)
                # The bias is the first row of V that the call is given.
                expected = s[:rows, :depth].astype(np.float64) @ v[:depth, :columns] + below[0, :columns]
                np.testing.assert_allclose(y[:rows, :columns], expected, rtol=1e-4, atol=1e-5)
                assert (y[rows:] == 7).all() and (y[:, columns:] == 7).all()


def test_a_row_has_the_same_bits_in_every_tile() -> None:
    name = "product_6x2x8_f32_f32_f32_up_y_0"
    compiled = kernel(name, "y, 0, pitch")
    rng = np.random.default_rng(1)
    s, v = rng.standard_normal((6, 101)).astype(np.float32), rng.standard_normal((101, 16)).astype(np.float32)
    block, found = aligned((6, 16), np.float32), []
    for rows in range(1, 7):
        y = np.zeros((6, 16), np.float32)
        compiled([block, s, v, y, 101, 1, 16, 101, 1, 1, rows, 16, 16], 0, 1)
        found.append(y[0].tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    "name", ["product_6x2x8_f32_f32_f32_up", "product_6x2x8_f32_f32_i8_up_y_0", "product_6x2_up_y_0"]
)
def test_other_names_are_no_micro_kernels(name: str) -> None:
    with pytest.raises(KeyError):
        product_tiles.recipe(name)
    with pytest.raises(KeyError):
        recipe(name)
