"""MatMul and Gemm in all versions and types, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import BasaltError

from .one_node import allowed, executable, is_float, run, versions

INTEGERS = ["int32", "uint32", "int64", "uint64"]


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if is_float(dtype):
        return np.asarray(random.integers(-4, 5, shape)).astype(onnx_dtype(dtype))
    # Any bits: sums wrap around.
    return np.asarray(random.integers(0, 2**63, shape, np.int64) * 2 + 1).astype(onnx_dtype(dtype))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product in the operands' type: integers modulo 2 to their width."""
    if a.dtype.kind in "iu":
        return np.asarray(np.matmul(a, b))
    return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64)))


def cases(op: str) -> list[tuple[int, str]]:
    return [(version, dtype) for version in versions(op) for dtype in allowed(op, version)]


SHAPES = [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 4))]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize(("version", "dtype"), cases("MatMul"))
def test_matrix_products(version: int, dtype: str, shapes: Any) -> None:
    a, b = numbers(*shapes[0], dtype=dtype), numbers(*shapes[1], dtype=dtype, seed=1)
    y = run("MatMul", version, a, b, compiled=False)
    wanted = product(a, b)
    assert y.dtype == a.dtype
    assert y.shape == wanted.shape
    np.testing.assert_array_equal(y, wanted.astype(a.dtype))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint64"])
@pytest.mark.parametrize("shapes", [SHAPES[0], SHAPES[4]])
def test_matrix_products_compiled(dtype: str, shapes: Any) -> None:
    a, b = numbers(*shapes[0], dtype=dtype), numbers(*shapes[1], dtype=dtype, seed=1)
    np.testing.assert_array_equal(run("MatMul", 13, a, b), product(a, b).astype(a.dtype))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("shapes", [((0, 3), (3, 4)), ((2, 0), (0, 4)), ((0, 2, 3), (3, 0))])
def test_empty_products(dtype: str, shapes: Any) -> None:
    a, b = np.ones(shapes[0], dtype), np.ones(shapes[1], dtype)
    y = run("MatMul", 13, a, b)
    np.testing.assert_array_equal(y, np.matmul(a, b))


def test_products_of_known_integers_and_of_unknown_depth() -> None:
    a, b = numbers(4, 3, dtype="int64"), numbers(3, 5, dtype="int64", seed=1)
    np.testing.assert_array_equal(run("MatMul", 9, a, b, known=[0, 1]), a @ b)
    np.testing.assert_array_equal(run("MatMul", 9, a, b, symbolic=True), a @ b)


def test_a_product_deeper_than_float64_can_sum_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("basalt.compiler.onnx.ops.products._EXACT_DEPTH", 4)
    a, b = numbers(2, 11, dtype="int64"), numbers(11, 3, dtype="int64", seed=1)
    np.testing.assert_array_equal(run("MatMul", 9, a, b, compiled=False), a @ b)


@given(
    st.sampled_from(cases("Gemm")),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.sampled_from([1.0, 0.5, -2.0]),
    st.sampled_from([1.0, 0.0, 0.25, 3.0]),
    st.sampled_from([None, (), (4,), (1,), (3, 1), (1, 4), (3, 4)]),
)
def test_general_products(case: Any, transposed: Any, alpha: float, beta: float, c_shape: Any) -> None:
    version, dtype = case
    rows, columns = ((2, 3) if transposed[0] else (3, 2)), ((4, 2) if transposed[1] else (2, 4))
    if is_float(dtype):
        a, b = numbers(*rows, dtype=dtype), numbers(*columns, dtype=dtype, seed=1)
    else:
        a, b = np.arange(6).reshape(rows).astype(dtype), np.arange(8).reshape(columns).astype(dtype)
        alpha = abs(alpha)
    if version < 7 and c_shape is None:
        c_shape = (3, 4)
    if version < 11 and c_shape is None:
        c_shape = ()
    c = None if c_shape is None else np.asarray(np.arange(np.prod(c_shape)).reshape(c_shape)).astype(a.dtype)
    attributes: dict[str, Any] = {"broadcast": int(c_shape != (3, 4))} if version < 7 else {}
    y = run(
        "Gemm",
        version,
        a,
        b,
        *([] if c is None else [c]),
        compiled=False,
        alpha=alpha,
        beta=beta,
        transA=transposed[0],
        transB=transposed[1],
        **attributes,
    )
    wide = np.float64
    wanted = alpha * (a.T if transposed[0] else a).astype(wide) @ (b.T if transposed[1] else b).astype(wide)
    if c is not None:
        wanted = wanted + beta * c.astype(wide)
    assert y.dtype == a.dtype
    np.testing.assert_array_equal(y, wanted.astype(a.dtype))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_general_products_compiled(dtype: str) -> None:
    a, b, c = numbers(2, 3, dtype=dtype), numbers(4, 2, dtype=dtype, seed=1), numbers(4, dtype=dtype, seed=2)
    y = run("Gemm", 13, a, b, c, transA=1, transB=1)
    np.testing.assert_array_equal(y, product(a.T, b.T).astype(dtype) + c)


def test_integers_wrap_under_whole_factors() -> None:
    a, b, c = (numbers(2, 2, dtype="uint32", seed=i) for i in range(3))
    y = run("Gemm", 9, a, b, c, alpha=-3.0, beta=2.0, compiled=False)
    np.testing.assert_array_equal(y, a @ b * np.uint32(2**32 - 3) + c * np.uint32(2))


def test_sizes_may_be_symbolic() -> None:
    a, b = numbers(5, 3), numbers(3, 4, seed=1)
    loaded = executable("Gemm", 13, [a, b, b[0]], known=[1, 2], symbolic=True)
    for rows in (5, 1, 7):
        x = numbers(rows, 3)
        np.testing.assert_array_equal(loaded.run({"x0": x})["y0"], x @ b + b[0])


@pytest.mark.parametrize(
    ("op", "version", "shapes", "message"),
    [
        ("MatMul", 13, [(), (3,)], "rank 1"),
        ("MatMul", 13, [(2, 3), (2, 3)], "columns"),
        ("Gemm", 13, [(2, 3, 1), (3, 2)], "rank 3"),
        ("Gemm", 13, [(2, 3), (2, 3)], "columns"),
        ("Gemm", 13, [(2, 3), (3, 2), (3,)], "broadcast"),
        ("Gemm", 6, [(2, 3), (3, 2), (2,)], "broadcast is 0"),
    ],
)
def test_what_the_standard_does_not_allow_is_refused(op: str, version: int, shapes: Any, message: str) -> None:
    with pytest.raises(BasaltError, match=message):
        run(op, version, *[np.ones(s, np.float32) for s in shapes], compiled=False)
