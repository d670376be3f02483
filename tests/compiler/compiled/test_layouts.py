"""Element-wise kernels over every layout that has loops of its own: tiles, tiny dimensions, rows, blocks."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.ops import numpy_dtype

from .forms import EXACT, Bench, Tolerance, benches, fill

DTYPES = ("float32", "uint8", "float16", "int64", "bool", "int4", "float64")
ANY_ZERO = Tolerance(signed_zeros=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8, 8), (16, 16), (17, 40), (64, 9), (65, 131), (3, 70, 33), (2, 15, 3, 129)])
def test_transposed_copies(dtype: str, shape: tuple[int, ...]) -> None:
    bench = Bench(Random(0))
    x = bench.input(fill(bench, shape, dtype, wild=True), dtype)
    orders = [(*range(len(shape) - 2), len(shape) - 1, len(shape) - 2), tuple(reversed(range(len(shape))))]
    bench.check([bench.maker.transpose(x, permutation=order) for order in orders], EXACT)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
@pytest.mark.parametrize("shape", [(2, 20, 4157), (9, 4100), (48, 1030)])
def test_transposed_copies_of_long_rows(dtype: str, shape: tuple[int, ...]) -> None:
    """Few long rows: several cache lines of each are read one after the other."""
    bench = Bench(Random(len(shape)))
    x = bench.input(fill(bench, shape, dtype), dtype)
    swap = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    bench.check([bench.maker.transpose(x, permutation=swap)], EXACT)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "int64"])
@settings(max_examples=6)
@given(bench=benches(), rows=st.integers(1, 140), columns=st.integers(1, 140), batch=st.sampled_from((1, 3)))
def test_transposed_operands(dtype: str, bench: Bench, rows: int, columns: int, batch: int) -> None:
    """Operands of both orders, one of them stretched, meet in one kernel with two results."""
    m = bench.maker
    x = bench.input(fill(bench, (batch, rows, columns), dtype), dtype)
    y = m.transpose(bench.input(fill(bench, (columns, rows, batch), dtype), dtype))
    z = bench.input(fill(bench, (1, columns), dtype), dtype)
    total = m.max(m.max(x, y), z)
    bench.check([total, m.min(total, y)], ANY_ZERO, optimise=True)


@pytest.mark.parametrize("inner", range(2, 10))
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_tiny_innermost_dimensions(inner: int, dtype: str) -> None:
    """Each operand runs along both dimensions, one of them, or neither."""
    for outer in (3, 8, 100, 5000):
        bench = Bench(Random(inner))
        shapes = [(outer, inner), (1, inner), (outer, 1), ()]
        a, b, c, d = (bench.input(fill(bench, shape, dtype), dtype) for shape in shapes)
        m = bench.maker
        turned = m.transpose(bench.input(fill(bench, (inner, outer), dtype), dtype))
        bench.check([m.max(m.min(a, b), m.min(c, d)), m.max(a, turned), m.max(b, c)], ANY_ZERO, optimise=True)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float16", "int64", "int4", "bool"])
def test_fill_and_copy_into_parts(dtype: str) -> None:
    """Padding stores numbers and copies rows into strided places of every kind."""
    for shape in ((5,), (3, 50), (50, 3), (2, 3, 4, 5), (9, 9, 9)):
        bench = Bench(Random(0))
        x = bench.input(fill(bench, shape, dtype, wild=True), dtype)
        ends = [1 + i % 3 for i in range(len(shape))]
        turned = bench.maker.transpose(bench.maker.pad(x, ends, ends[::-1], value=1))
        bench.check([turned, bench.maker.pad(turned, ends, ends)], EXACT)


def test_results_in_several_orders() -> None:
    """One kernel writes a result in memory order and another one transposed."""
    bench = Bench(Random(0))
    m = bench.maker
    x = bench.input(bench.numbers.normal(size=(60, 45)).astype(np.float32), "float32")
    y = m.relu(x)
    bench.check([m.neg(y), m.transpose(m.abs(y))], ANY_ZERO, optimise=True)


def test_bits_of_nan_are_moved_as_they_are() -> None:
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        bench = Bench(Random(1))
        kind = numpy_dtype(dtype)
        array = bench.numbers.integers(0, 256, (33, 40, kind.itemsize), np.uint8).view(kind).reshape(33, 40)
        x = bench.input(array, dtype)
        graph = bench.maker.graph(y=bench.maker.transpose(x), z=bench.maker.concat([x, x], 1))
        from .running import run_compiled

        got = run_compiled(graph, bench.maker.constants, bench.feeds)
        assert got["y"].tobytes() == np.ascontiguousarray(array.T).tobytes()
        assert got["z"].tobytes() == np.concatenate([array, array], 1).tobytes()
