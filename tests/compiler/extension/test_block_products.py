"""Compiled products with integers in blocks, against their NumPy semantics."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from basalt.compiler.ir import Value

from ..compiled.forms import Bench, Tolerance
from ..compiled.running import run_compiled

NEAR = Tolerance(scaled=2e-6, absolute=1e-6)
# Rows, depth, columns, size of a block, bits.
CASES = [
    (1, 64, 16, 32, 4),
    (1, 300, 33, 32, 4),
    (2, 256, 5, 16, 4),
    (3, 31, 40, 128, 4),
    (4, 96, 17, 32, 8),
    (5, 64, 1, 64, 2),
    (7, 129, 50, 32, 8),
    (13, 48, 31, 8, 4),
]


def _product(bench: Bench, case: tuple[int, ...], *, alike: bool, half: bool, rounded: bool, constant: bool) -> Value:
    rows, depth, columns, size, bits = case
    rng, blocks = bench.numbers, -(-depth // size)
    codes = rng.integers(0, 1 << bits, (columns, blocks * size)).astype(np.uint8)
    scale = rng.uniform(0.01, 0.02, (columns, blocks)).astype(np.float16 if half else np.float32).astype(np.float32)
    zero = np.full((columns, blocks), 1 << (bits - 1)) if alike else rng.integers(0, 1 << bits, (columns, blocks))
    a = bench.operand(
        rng.normal(size=(2, rows, depth)).astype(np.float32), "float32", ("plain", "transposed", "sliced")
    )
    held = bench.maker.constant if constant else bench.input
    weights = held(codes, "uint8"), held(scale, "float32"), held(zero, "uint8")
    return bench.maker.call("matmul_blocks", a, *weights, bits=bits, rounded=rounded)  # type: ignore[no-any-return]


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("rounded", [False, True])
def test_matmul_blocks(number: int, rounded: bool) -> None:
    bench = Bench(Random(number))
    y = _product(
        bench, CASES[number], alike=number % 2 == 0, half=number % 3 == 0, rounded=rounded, constant=number != 3
    )
    bias = bench.maker.constant(np.arange(CASES[number][2]) * 0.1)
    bench.check([bench.maker.relu(bench.maker.add(y, bias))], NEAR, optimise=number % 2 == 1)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    """Infinite and huge numbers stay in their row."""
    bench = Bench(Random(0))
    y = _product(bench, (6, 64, 40, 32, 4), alike=False, half=False, rounded=False, constant=True)
    graph = bench.maker.graph(y=y)
    (name,) = bench.feeds
    x = np.random.default_rng(0).normal(size=bench.feeds[name].shape).astype(np.float32)
    want = run_compiled(graph, bench.maker.constants, {name: x})["y"]
    wild = x.copy()
    other = tuple(i // 2 for i in x.shape)
    wild[other] = np.inf
    got = run_compiled(graph, bench.maker.constants, {name: wild})["y"]
    assert (np.isfinite(got).all(axis=-1)).sum() == want.shape[0] * want.shape[1] - 1
    same = np.isfinite(got).all(axis=-1)
    np.testing.assert_array_equal(got[same], want[same])
