"""MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv, against NumPy and ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import BasaltError

from .one_node import allowed, executable, run, versions
from .window_oracle import convolve

BYTES = ["int8", "uint8"]
SHAPES = [((3,), (3,)), ((2, 3), (3, 4)), ((3,), (2, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((2, 3), (3,))]


def integers(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.asarray(np.random.default_rng(seed).integers(info.min, info.max + 1, shape)).astype(dtype)


def wide(x: np.ndarray | None) -> Any:
    return 0 if x is None else x.astype(np.int64)


def quantized(product: np.ndarray, factor: Any, zero: np.ndarray) -> np.ndarray:
    """Rounded to even in float32, then the zero point added, then limited."""
    info = np.iinfo(zero.dtype)
    steps = np.rint(product.astype(np.float32) * np.asarray(factor, np.float32)).astype(np.float64)
    return np.clip(steps + wide(zero), info.min, info.max).astype(zero.dtype)


@pytest.mark.parametrize("a_dtype", BYTES)
@pytest.mark.parametrize("b_dtype", BYTES)
@pytest.mark.parametrize("shapes", SHAPES)
def test_integer_matrix_products(a_dtype: str, b_dtype: str, shapes: Any) -> None:
    a, b = integers(a_dtype, shapes[0], 0), integers(b_dtype, shapes[1], 1)
    a_zero, b_zero = integers(a_dtype, (), 2), integers(b_dtype, (1,), 3)
    full = [a, b, a_zero, b_zero]
    for inputs in ([a, b], [a, b, a_zero], [a, b, None, b_zero], full):
        given_zeros = [*inputs[2:], None, None][:2]
        y = run("MatMulInteger", 10, *inputs, compiled=inputs is full and a_dtype != b_dtype and shapes == SHAPES[1])
        wanted = np.matmul(wide(a) - wide(given_zeros[0]), wide(b) - wide(given_zeros[1]))
        assert y.dtype == np.int32
        assert y.shape == wanted.shape
        np.testing.assert_array_equal(y, wanted)


def test_zero_points_of_rows_and_columns() -> None:
    a, b = integers("uint8", (3, 4), 0), integers("int8", (4, 5), 1)
    rows, columns = integers("uint8", (3,), 2), integers("int8", (5,), 3)
    y = run("MatMulInteger", 10, a, b, rows, columns)
    np.testing.assert_array_equal(y, (wide(a) - wide(rows)[:, None]) @ (wide(b) - wide(columns)))


@settings(max_examples=60)
@given(
    st.sampled_from(BYTES), st.sampled_from(BYTES), st.integers(1, 3), st.integers(1, 2), st.integers(0, 3), st.data()
)
def test_integer_convolutions(x_dtype: str, w_dtype: str, rank: int, groups: int, zeros: int, data: Any) -> None:
    pads = [data.draw(st.integers(0, 2)) for _ in range(2 * rank)]
    strides = [data.draw(st.integers(1, 2)) for _ in range(rank)]
    kernel = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    x = integers(x_dtype, (2, 2 * groups, *[4, 5, 3][:rank]), 0)
    w = integers(w_dtype, (3 * groups, 2, *kernel), 1)
    x_zero = integers(x_dtype, (), 2) if zeros & 1 else None
    w_zero = integers(w_dtype, (3 * groups,) if zeros == 3 else (), 3) if zeros & 2 else None
    y = run("ConvInteger", 10, x, w, x_zero, w_zero, compiled=False, pads=pads, strides=strides, group=groups)
    lowered = wide(w) - (
        wide(w_zero) if w_zero is None or not w_zero.ndim else wide(w_zero).reshape(-1, *[1] * (rank + 1))
    )
    wanted = convolve(wide(x) - wide(x_zero), lowered, strides, pads, [1] * rank, groups)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_integer_convolutions_compiled(rank: int) -> None:
    x, w = integers("uint8", (1, 3, *[4, 5, 3][:rank]), 0), integers("int8", (4, 3, *[2] * rank), 1)
    zero = integers("uint8", (), 2)
    y = run("ConvInteger", 10, x, w, zero, pads=[1] * 2 * rank)
    wanted = convolve(wide(x) - wide(zero), wide(w), [1] * rank, [1] * 2 * rank, [1] * rank)
    np.testing.assert_array_equal(y, wanted)


def matmul_cases() -> list[tuple[int, str, str, str, str]]:
    op = "QLinearMatMul"
    return [
        (v, a, b, scale, y)
        for v in versions(op)
        for a in BYTES
        for b in BYTES
        for scale in allowed(op, v, 1)
        for y in BYTES
    ]


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(("version", "a_dtype", "b_dtype", "scale", "y_dtype"), matmul_cases())
def test_quantized_matrix_products(
    version: int, a_dtype: str, b_dtype: str, scale: str, y_dtype: str, lines: bool
) -> None:
    a, b = integers(a_dtype, (3, 4), 0), integers(b_dtype, (4, 5), 1)
    a_shape, b_shape = ((3,), (5,)) if lines else ((), (1,))
    random = np.random.default_rng(2)
    scales = [random.uniform(0.01, 0.1, s).astype(np.float32).astype(onnx_dtype(scale)) for s in (a_shape, b_shape)]
    a_scale, b_scale = scales
    y_scale = np.array(2).astype(onnx_dtype(scale))
    a_zero, b_zero, y_zero = integers(a_dtype, a_shape, 3), integers(b_dtype, b_shape, 4), integers(y_dtype, (), 5)
    y = run("QLinearMatMul", version, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, compiled=False)
    rows = (lambda v: v[:, None]) if lines else (lambda v: v)
    product = (wide(a) - rows(wide(a_zero))) @ (wide(b) - wide(b_zero))
    factor = rows(a_scale.astype(np.float32)) * b_scale.astype(np.float32) / np.float32(2)
    np.testing.assert_array_equal(y, quantized(product, factor, y_zero))


@pytest.mark.parametrize("dtype", [t for t in allowed("QLinearMatMul", 21) if "float" in t])
@pytest.mark.parametrize("y_dtype", ["int8", "same"])
def test_quantized_matrix_products_of_floats(dtype: str, y_dtype: str) -> None:
    kind = onnx_dtype(dtype)
    random = np.random.default_rng(0)
    a, b = random.integers(-8, 9, (3, 4)).astype(kind), random.integers(-8, 9, (4, 5)).astype(kind)
    a_scale, b_scale, y_scale = (np.array(v, np.float32) for v in (0.5, 0.25, 2))
    zero, y_zero = np.array(2).astype(kind), np.array(1).astype(kind if y_dtype == "same" else np.int8)
    y = run("QLinearMatMul", 21, a, a_scale, zero, b, b_scale, zero, y_scale, y_zero, compiled=y_dtype == "same")
    product = (a.astype(np.float64) - 2) @ (b.astype(np.float64) - 2) * (0.5 * 0.25 / 2)
    wanted = (product + 1).astype(kind) if y_dtype == "same" else (np.rint(product) + 1).astype(np.int8)
    assert y.dtype == y_zero.dtype
    np.testing.assert_array_equal(y.astype(np.float64), wanted.astype(np.float64))


def test_quantized_stacks_of_matrices_with_scales_of_their_rank() -> None:
    a, b = integers("uint8", (2, 3, 4), 0), integers("int8", (2, 4, 5), 1)
    a_scale, b_scale = np.random.default_rng(2).uniform(0.01, 0.1, (2, 2, 3, 1)).astype(np.float32)
    b_scale = np.resize(b_scale, (2, 1, 5)).astype(np.float32)
    a_zero, b_zero = integers("uint8", (2, 3, 1), 3), integers("int8", (2, 1, 5), 4)
    one, zero = np.array(1, np.float32), np.array(3, np.int8)
    y = run("QLinearMatMul", 21, a, a_scale, a_zero, b, b_scale, b_zero, one, zero)
    product = (wide(a) - wide(a_zero)) @ (wide(b) - wide(b_zero))
    np.testing.assert_array_equal(y, quantized(product, a_scale * b_scale, zero))


def test_halves_go_to_the_even_number_before_the_zero_point_is_added() -> None:
    a, one = np.array([[1], [3]], np.int8), np.ones((), np.float32)
    zero, odd = np.zeros((), np.int8), np.array(1, np.int8)
    y = run("QLinearMatMul", 10, a, one, zero, np.ones((1, 1), np.int8), one / 2, zero, one, odd, compiled=False)
    np.testing.assert_array_equal(y, [[1], [3]])


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("x_dtype", BYTES)
@pytest.mark.parametrize("w_dtype", BYTES)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_quantized_convolutions(x_dtype: str, w_dtype: str, rank: int, per_channel: bool, biased: bool) -> None:
    x, w = integers(x_dtype, (1, 4, *[4, 5, 3][:rank]), 0), integers(w_dtype, (6, 2, *[2] * rank), 1)
    shape = (6,) if per_channel else ()
    x_scale, y_scale = np.array(0.02, np.float32), np.array([1.5], np.float32)
    w_scale = np.asarray(np.random.default_rng(2).uniform(0.01, 0.1, shape)).astype(np.float32)
    x_zero, w_zero, y_zero = integers(x_dtype, (), 3), integers(w_dtype, shape, 4), integers("uint8", (1,), 5)
    bias = [np.asarray(np.random.default_rng(6).integers(-9999, 9999, 6)).astype(np.int32)] if biased else []
    inputs = [x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *bias]
    compiled = per_channel and biased and rank == 2 and x_dtype > w_dtype
    y = run("QLinearConv", 10, *inputs, compiled=compiled, group=2, pads=[1, 0, 2][:rank] * 2, strides=[2] * rank)
    per_output = (-1, *[1] * rank)
    lowered = wide(w) - (wide(w_zero).reshape(-1, 1, *[1] * rank) if per_channel else wide(w_zero))
    product = convolve(wide(x) - wide(x_zero), lowered, [2] * rank, [1, 0, 2][:rank] * 2, [1] * rank, 2)
    if biased:
        product = product + bias[0].reshape(per_output)
    factor = x_scale * (w_scale.reshape(per_output) if per_channel else w_scale) / y_scale
    np.testing.assert_array_equal(y, quantized(product, factor, y_zero))


def test_sizes_may_be_symbolic() -> None:
    a, b = integers("uint8", (3, 4), 0), integers("int8", (4, 5), 1)
    loaded = executable("MatMulInteger", 10, [a, b], known=[1], symbolic=True)
    for rows in (3, 1, 6):
        a = integers("uint8", (rows, 4), rows)
        np.testing.assert_array_equal(loaded.run({"x0": a})["y0"], wide(a) @ wide(b))


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        ("MatMulInteger", [(2, 3), (2, 3)], "columns"),
        ("MatMulInteger", [(2, 3), (3, 2), (3,)], "a_zero_point"),
        ("ConvInteger", [(1, 2, 4), (3, 2, 5)], "exceeds"),
        ("ConvInteger", [(1, 2, 4), (3, 2, 2), (), (2,)], "filter_zero_point"),
        ("ConvInteger", [(1, 2), (3, 2)], "rank 2"),
    ],
)
def test_what_the_standard_does_not_allow_is_refused(op: str, shapes: Any, message: str) -> None:
    with pytest.raises(BasaltError, match=message):
        run(op, 10, *[np.ones(s, np.int8) for s in shapes], compiled=False)
