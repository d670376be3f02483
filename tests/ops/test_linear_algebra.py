"""gemm and matmul against sums of products, exactly rounded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from basalt.ops.types import numpy_dtype

from .harness import arrays, assert_rounded, float_types, infer, run

sizes = st.integers(1, 5)


def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two matrices, each element summed exactly."""
    rows, columns = a.astype(np.float64), b.astype(np.float64).T
    return np.array([[math.fsum(row * column) for column in columns] for row in rows])


@st.composite
def gemms(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    m, k, n, dtype = draw(sizes), draw(sizes), draw(sizes), draw(float_types)
    addend = draw(st.sampled_from([None, (), (1,), (n,), (1, n), (m, 1), (m, n), (1, 1)]))
    c = None if addend is None else draw(arrays(addend, dtype))
    return draw(arrays((m, k), dtype)), draw(arrays((k, n), dtype)), c


@given(gemms(), st.booleans(), st.booleans(), st.floats(-3, 3), st.floats(-3, 3))
def test_gemm(case: tuple[Any, ...], a_transpose: bool, b_transpose: bool, alpha: float, beta: float) -> None:
    a, b, c = case
    (y,) = run(
        "gemm",
        a=a.T if a_transpose else a,
        b=b.T if b_transpose else b,
        c=c,
        alpha=alpha,
        beta=beta,
        a_transpose=a_transpose,
        b_transpose=b_transpose,
    )
    alpha, beta = (float(np.asarray(v, a.dtype)) for v in (alpha, beta))
    assert_rounded(y, alpha * products(a, b) + (0 if c is None else beta * c.astype(np.float64)))


@given(st.data(), float_types)
def test_matmul(data: st.DataObject, dtype: str) -> None:
    batch = data.draw(st.lists(st.integers(1, 3), max_size=3))
    m, k, n = data.draw(sizes), data.draw(sizes), data.draw(sizes)
    operands = []
    for matrix in ((m, k), (k, n)):
        kept = batch[data.draw(st.integers(0, len(batch))) :]
        operands.append(data.draw(arrays([*(data.draw(st.sampled_from([1, d])) for d in kept), *matrix], dtype)))
    a, b = operands
    (y,) = run("matmul", a=a, b=b)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    assert y.shape == (*lead, m, n)
    stack_a, stack_b = np.broadcast_to(a, (*lead, m, k)), np.broadcast_to(b, (*lead, k, n))
    exact = np.empty(y.shape)
    for at in np.ndindex(*lead):
        exact[at] = products(stack_a[at], stack_b[at])
    assert_rounded(y, exact)


def test_long_sums_lose_nothing() -> None:
    a = np.full((1, 100_000), 0.1, np.float32)
    (y,) = run("matmul", a=a, b=np.ones((100_000, 1), np.float32))
    assert y.item() == np.float32(100_000 * np.float64(np.float32(0.1)))
    half = np.full((1, 4096), 0.1, np.float16)
    (y,) = run("gemm", a=half, b=half, b_transpose=True)
    assert y.item() == np.float16(4096 * np.float64(half[0, 0]) ** 2)


def test_factors_are_cast_to_the_data_type() -> None:
    one = np.ones((1, 1), numpy_dtype("float16"))
    assert run("gemm", a=one, b=one, alpha=1 / 3)[0] == np.float16(1 / 3)
    assert run("gemm", a=one, b=one, alpha=1e6)[0] == np.inf


def test_symbolic_sizes() -> None:
    assert infer("matmul", a="f32[n, 1, s, 64]", b="f32[12, 64, k]") == ["float32[n, 12, s, k]"]
    assert infer("gemm", a="f32[n, k]", b="f32[10, 64]", b_transpose=True, c="f32[10]") == ["float32[n, 10]"]
