"""Integer products and convolutions against sums over Python's and NumPy's wide integers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ValidationError

from ..calling import infer, output

BYTES = ("int8", "uint8")


def byte_array(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, endpoint=True).astype(dtype)


@pytest.mark.parametrize(("za", "zb"), [(None, None), ((), ()), ((1,), (5,)), ((3,), (1,)), ((2, 3, 1), (2, 1, 5))])
@given(a_dtype=st.sampled_from(BYTES), b_dtype=st.sampled_from(BYTES), seed=st.integers(0, 1000))
def test_matmul(za: Any, zb: Any, a_dtype: str, b_dtype: str, seed: int) -> None:
    a, b = byte_array(a_dtype, (2, 3, 7), seed), byte_array(b_dtype, (2, 7, 5), seed + 1)
    given: dict[str, Any] = {}
    left, right = a.astype(np.int64), b.astype(np.int64)
    if za is not None:
        given["a_zero_point"] = byte_array(a_dtype, za, seed + 2)
        left = left - (given["a_zero_point"][:, None] if za == (3,) else given["a_zero_point"]).astype(np.int64)
    if zb is not None:
        given["b_zero_point"] = byte_array(b_dtype, zb, seed + 3)
        right = right - given["b_zero_point"].astype(np.int64)
    np.testing.assert_array_equal(output("matmul_integer", a, b, **given), np.matmul(left, right))


def test_sums_wrap_around() -> None:
    depth = 2**31 // 255**2 + 5
    a, b = np.full((1, depth), 255, np.uint8), np.full((depth, 1), 255, np.uint8)
    assert output("matmul_integer", a, b)[0, 0] == depth * 255**2 - 2**32


def naive_conv(x: np.ndarray, w: np.ndarray, pad: int, stride: int, dilation: int, groups: int) -> np.ndarray:
    """A convolution of int64 arrays, one product at a time; padding adds nothing."""
    batches, _, height, width = x.shape
    outputs, depth, kh, kw = w.shape
    rows = (height + 2 * pad - (kh - 1) * dilation - 1) // stride + 1
    columns = (width + 2 * pad - (kw - 1) * dilation - 1) // stride + 1
    y = np.zeros((batches, outputs, rows, columns), np.int64)
    for n, o, i, j in np.ndindex(y.shape):
        first = o // (outputs // groups) * depth
        for c, p, q in itertools.product(range(depth), range(kh), range(kw)):
            r, s = i * stride + p * dilation - pad, j * stride + q * dilation - pad
            if 0 <= r < height and 0 <= s < width:
                y[n, o, i, j] += x[n, first + c, r, s] * w[o, c, p, q]
    return y


@pytest.mark.parametrize(("pad", "stride", "dilation", "groups"), [(0, 1, 1, 1), (2, 2, 1, 2), (1, 1, 2, 4)])
@pytest.mark.parametrize(("x_dtype", "w_dtype"), [("uint8", "int8"), ("int8", "uint8")])
def test_conv(pad: int, stride: int, dilation: int, groups: int, x_dtype: str, w_dtype: str) -> None:
    x, w = byte_array(x_dtype, (2, 4, 6, 5), 1), byte_array(w_dtype, (4, 4 // groups, 3, 2), 2)
    zx, zw = byte_array(x_dtype, (), 3), byte_array(w_dtype, (4,), 4)
    expected = naive_conv(
        x.astype(np.int64) - int(zx), w.astype(np.int64) - zw.astype(np.int64)[:, None, None, None],
        pad, stride, dilation, groups,
    )  # fmt: skip
    given = {"padding": (pad,) * 4, "strides": (stride,) * 2, "dilations": (dilation,) * 2, "groups": groups}
    got = output("conv_integer", x, w, input_zero_point=zx, filter_zero_point=zw, **given)
    np.testing.assert_array_equal(got, expected)


def test_shapes_may_be_symbolic() -> None:
    assert infer("matmul_integer", "uint8[b, m, 8]", "int8[8, n]", None, "int8[n]") == ["int32[b, m, n]"]
    assert infer("conv_integer", "uint8[n, 3, h, 8]", "int8[4, 3, 3, 3]") == ["int32[n, 4, h - 2, 6]"]


@pytest.mark.parametrize(
    ("name", "types", "message"),
    [
        ("matmul_integer", ("uint8[2, 3]", "int8[4, 5]"), "a has 3 columns, but b has 4 rows"),
        ("matmul_integer", ("float32[2, 3]", "int8[3, 5]"), "a is float32, expected one of int8, uint8"),
        ("matmul_integer", ("uint8[2, 3]", "int8[3, 5]", "uint8[3]"), "one for each of the 2 rows"),
        ("matmul_integer", ("uint8[2, 3]", "int8[3, 5]", "int8[2]"), "must have the data type of a, uint8"),
        ("matmul_integer", ("uint8[2, 3]", "int8[3, 5]", None, "int8[3, 5]"), "can be broadcast to"),
        ("conv_integer", ("uint8[1, 3, 8, 8]", "int8[4, 2, 3, 3]"), "the filter has 2 input channels"),
        ("conv_integer", ("uint8[1, 3, 8, 8]", "int8[4, 3, 3, 3]", None, "int8[3]"), "the number of output channels"),
        ("conv_integer", ("uint8[1, 3, 8, 8]", "int8[4, 3, 3, 3]", "uint8[3]"), "input_zero_point has shape"),
    ],
)
def test_what_is_refused(name: str, types: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        infer(name, *types)
