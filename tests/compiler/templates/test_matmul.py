"""Matrix products: every way the operands can lie in memory, every edge of the tiles, fused operators."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.codegen.tiling import pack_panels, tile_rows, tile_shape

from .harness import Maker, check, numbers

FLOATS = ("float32", "float16", "float64", "bfloat16")
SIZES = st.integers(1, 20) | st.sampled_from([31, 64, 65, 130])


def product(a: np.ndarray, b: np.ndarray, constant: bool, dtype: str) -> None:
    m, feeds = Maker(), {"a": a}
    x = m.input("a", dtype, a.shape)
    if constant:
        y = m.constant(b, dtype)
    else:
        y, feeds["b"] = m.input("b", dtype, b.shape), b
    check(m, feeds, y=m.matmul(x, y))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(SIZES, SIZES, SIZES, st.booleans())
def test_sizes(rows: int, depth: int, columns: int, constant: bool) -> None:
    product(numbers(1, (rows, depth)), numbers(2, (depth, columns)), constant, "float32")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("constant", "sizes"), [(False, (1, 40, 70)), (True, (9, 600, 33)), (False, (60, 5, 1))])
def test_data_types(dtype: str, constant: bool, sizes: tuple[int, int, int]) -> None:
    rows, depth, columns = sizes
    product(numbers(1, (rows, depth), dtype), numbers(2, (depth, columns), dtype), constant, dtype)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), ()),
        ((), (3,)),
        ((2, 3), (2, 3)),
        ((2, 1), (3,)),
        ((1, 3), (2, 1)),
        ((2, 2, 1), (2, 1, 3)),
        ((1,), (1,)),
    ],
)
def test_batches(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    product(numbers(1, (*left, 5, 6)), numbers(2, (*right, 6, 18)), False, "float32")
    product(numbers(1, (*left, 1, 6)), numbers(2, (*right, 6, 18)), True, "float32")


@pytest.mark.parametrize(("rows", "depth"), [(1, 64), (1, 15), (3, 40), (8, 1), (70, 15)])
def test_transposed_operands(rows: int, depth: int) -> None:
    """Inner products along a contiguous depth for few rows, a packed copy for many."""
    m = Maker()
    a, b = m.input("a", "float32", (2, rows, depth)), m.input("b", "float32", (2, 70, depth))
    c = m.input("c", "float32", (2, depth, rows))
    feeds = {"a": numbers(1, (2, rows, depth)), "b": numbers(2, (2, 70, depth)), "c": numbers(3, (2, depth, rows))}
    over = m.transpose(b, permutation=(0, 2, 1))
    check(m, feeds, y=m.matmul(a, over), z=m.matmul(m.transpose(c, permutation=(0, 2, 1)), over))


def test_large_operands_are_packed_at_run_time() -> None:
    product(numbers(1, (60, 300)), numbers(2, (300, 250)), False, "float32")
    product(numbers(1, (3, 60, 300)), numbers(2, (3, 300, 256)), False, "float32")


def test_depth_is_summed_up_in_blocks() -> None:
    product(numbers(1, (3, 1100)), numbers(2, (1100, 20)), True, "float32")
    product(numbers(1, (40, 1100)), numbers(2, (1100, 20)), False, "float32")


def test_empty_depth_gives_zeros() -> None:
    m = Maker()
    a, b = m.input("a", "float32", (3, 0)), m.input("b", "float32", (0, 5))
    y = check(m, {"a": numbers(1, (3, 0)), "b": numbers(2, (0, 5))}, y=m.matmul(a, b))["y"]
    assert not y.any()


@pytest.mark.parametrize("a_transpose", [False, True])
@pytest.mark.parametrize("b_transpose", [False, True])
@pytest.mark.parametrize("addend", [None, (), (20,), (7, 1), (1, 20), (7, 20), (1,)])
def test_gemm(a_transpose: bool, b_transpose: bool, addend: tuple[int, ...] | None) -> None:
    m = Maker()
    shapes = {"a": (9, 7) if a_transpose else (7, 9), "b": (20, 9) if b_transpose else (9, 20)}
    if addend is not None:
        shapes["c"] = addend
    values = {name: m.input(name, "float32", shape) for name, shape in shapes.items()}
    options = {"a_transpose": a_transpose, "b_transpose": b_transpose, "alpha": 0.25, "beta": 0.5}
    y = m.gemm(values["a"], values["b"], c=values.get("c"), **options)
    check(m, {name: numbers(i, shape) for i, (name, shape) in enumerate(shapes.items())}, y=y)


@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0])
def test_gemm_with_few_columns(beta: float) -> None:
    m = Maker()
    a, c = m.input("a", "float32", (50, 9)), m.input("c", "float32", (50, 3))
    y = m.gemm(a, m.constant(numbers(2, (9, 3))), c=c, beta=beta)
    check(m, {"a": numbers(1, (50, 9)), "c": numbers(3, (50, 3))}, y=m.relu(y))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_fused_operators_and_several_results(dtype: str) -> None:
    """The root's own result, a value in between and a transposed one are all stored."""
    m = Maker()
    a, r = m.input("a", dtype, (2, 9, 12)), m.input("r", dtype, (9, 34))
    root = m.matmul(a, m.constant(numbers(2, (12, 34), dtype), dtype))
    moved = m.add(m.mul(root, r), m.constant(numbers(3, (34,), dtype), dtype))
    last = m.transpose(m.relu(moved), permutation=(2, 0, 1))
    feeds = {"a": numbers(1, (2, 9, 12), dtype), "r": numbers(4, (9, 34), dtype)}
    check(m, feeds, root=root, moved=moved, last=last)


def test_float16_is_rounded_once() -> None:
    """2048 + 1 + 1 loses both ones if the product is rounded before the addend is added."""
    m = Maker()
    a, b = m.input("a", "float16", (1, 2)), m.input("b", "float16", (2, 1))
    c = m.input("c", "float16", (1, 1))
    feeds = {"a": [[2048, 1]], "b": [[1], [1]], "c": [[1]]}
    y = check(m, {k: np.array(v, np.float16) for k, v in feeds.items()}, y=m.gemm(a, b, c=c))["y"]
    assert y == 2050


def test_tiles_leave_few_rows_empty() -> None:
    assert [tile_rows(rows, 6) for rows in (1, 5, 6, 12, 100)] == [1, 5, 6, 6, 6]
    assert all(-(-rows // r) * r - rows < r for rows in range(1, 40) for r in [tile_rows(rows, 8)])
    assert tile_shape("float32", 1, 64).columns == tile_shape("float32", 100, 64).columns


def test_panels_are_filled_with_zeros() -> None:
    array = numbers(1, (2, 3, 5))
    panels = pack_panels(array, 4)
    assert panels.shape == (2, 2, 3, 4)
    np.testing.assert_array_equal(panels[:, 0], array[:, :, :4])
    np.testing.assert_array_equal(panels[:, 1, :, 0], array[:, :, 4])
    assert not panels[:, 1, :, 1:].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("depth", [3, 20, 300])
@pytest.mark.parametrize("columns", [1, 2, 4, 8, 15])
def test_few_columns_of_many_rows(dtype: str, depth: int, columns: int) -> None:
    """Tiles with empty lanes where inner products are short, inner products where they are long."""
    m = Maker()
    x, bias = m.input("x", dtype, (150, depth)), m.constant(numbers(3, (columns,), dtype), dtype)
    y = m.add(m.matmul(x, m.constant(numbers(2, (depth, columns), dtype), dtype)), bias)
    check(m, {"x": numbers(1, (150, depth), dtype)}, y=m.relu(y))
