"""Extension operators that work element by element, against Python's integers and the math module."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt import ops
from basalt.errors import ValidationError

from ..calling import INTS, array, output, seeds
from ..test_elementwise_int import elementwise


def _width(dtype: str) -> int:
    return 8 * np.dtype(dtype).itemsize


BITWISE: dict[str, Callable[[int, int], int]] = {
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "mod": lambda a, b: a % b if b else 0,
    "fmod": lambda a, b: (abs(a) % abs(b)) * (-1 if a < 0 else 1) if b else 0,
}


@pytest.mark.parametrize("name", BITWISE)
@given(dtype=st.sampled_from(INTS), seed=seeds)
def test_integer_operators(name: str, dtype: str, seed: int) -> None:
    a, b = array(dtype, (3, 7), seed), array(dtype, (7,), seed + 1)
    np.testing.assert_array_equal(output(name, a, b), elementwise(dtype, BITWISE[name], a, b))


@given(dtype=st.sampled_from(INTS), seed=seeds)
def test_shifts(dtype: str, seed: int) -> None:
    a = array(dtype, (3, 9), seed)
    counts = np.random.default_rng(seed).integers(0, _width(dtype) + 3, (9,)).astype(dtype)

    def left(x: int, n: int) -> int:
        return x << n if 0 <= n < _width(dtype) else 0

    def right(x: int, n: int) -> int:
        return x >> n if 0 <= n < _width(dtype) else (-1 if x < 0 else 0)

    np.testing.assert_array_equal(output("shift_left", a, counts), elementwise(dtype, left, a, counts))
    np.testing.assert_array_equal(output("shift_right", a, counts), elementwise(dtype, right, a, counts))


def test_negative_shift_counts_move_every_bit_out() -> None:
    a, counts = np.array([-7, 7], np.int8), np.array([-1, -128], np.int8)
    np.testing.assert_array_equal(output("shift_left", a, counts), [0, 0])
    np.testing.assert_array_equal(output("shift_right", a, counts), [-1, 0])


@pytest.mark.parametrize("dtype", INTS)
def test_complement(dtype: str) -> None:
    x = array(dtype, (50,), 1)
    np.testing.assert_array_equal(output("bitwise_not", x), elementwise(dtype, lambda v: ~v, x))


@pytest.mark.parametrize(
    ("a", "b"), [(5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (-5.5, -2.0), (4.0, -2.0), (-1.0, math.inf)]
)
def test_float_remainders(a: float, b: float) -> None:
    x, y = np.float32([a]), np.float32([b])
    assert output("mod", x, y)[0] == a % b
    assert output("fmod", x, y)[0] == math.fmod(a, b)
    assert np.isnan(output("mod", x, np.float32([0.0]))[0])


FUNCTIONS = ("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "trunc", "expm1", "log1p")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    points = np.array([1.0, 1.5, 3.25, 20.0] if name == "acosh" else [-0.75, -1e-5, 0.0, 0.5, 0.9], np.float32)
    exact = np.array([getattr(math, name)(float(p)) for p in points])
    np.testing.assert_allclose(output(name, points), exact, rtol=2e-7)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_not", "shift_left"])
def test_floats_have_no_bits(name: str) -> None:
    operator = ops.get(name)
    with pytest.raises(ValidationError, match="expected one of"):
        operator.check([ops.TensorType("float32", (2,))] * len(operator.operands), {})
