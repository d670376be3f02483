"""Element-wise operators on floats against formulas in extended precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from .calling import FLOATS, array, assert_close, assert_same_bits, broadcast_shapes, output, seeds, shapes

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the formulas; operators give none

Formula = Callable[..., Any]
LD = np.longdouble


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x + np.log1p(np.exp(-np.abs(x))), np.log1p(np.exp(-np.abs(x)))) + np.where(np.isnan(x), x, 0)


def _hard_swish(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, 0, x * np.clip(x + 3, 0, 6) / 6)


def _gelu(x: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, 0, x * special.ndtr(x.astype(np.float64)))


UNARY: dict[str, Formula] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "erf": lambda x: special.erf(x.astype(np.float64)),
    "exp": np.exp,
    "floor": np.floor,
    "identity": lambda x: x,
    "log": np.log,
    "neg": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round_even": np.rint,
    "sin": np.sin,
    "sign": lambda x: np.where(x > 0, 1, np.where(x < 0, -1, 0)),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "gelu": _gelu,
    "hard_swish": _hard_swish,
    "relu": lambda x: np.where(np.isnan(x), x, np.where(x > 0, x, 0)),
    "sigmoid": lambda x: special.expit(x.astype(np.float64)),
    "softplus": _softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
}

BINARY: dict[str, Formula] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "max": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a > b, a, b)),
    "min": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a < b, a, b)),
    "prelu": lambda x, slope: np.where(x < 0, slope * x, x),
}

EXACT = {"abs", "ceil", "floor", "identity", "neg", "round_even", "sign", "relu", "max", "min"}


@pytest.mark.parametrize("name", UNARY)
@given(dtype=st.sampled_from(FLOATS), shape=shapes(), seed=seeds)
def test_unary(name: str, dtype: str, shape: tuple[int, ...], seed: int) -> None:
    x = array(dtype, shape, seed)
    with np.errstate(all="ignore"):
        assert_close(output(name, x), UNARY[name](x.astype(LD)), 0 if name in EXACT else 2, [x])


@pytest.mark.parametrize("name", BINARY)
@given(dtype=st.sampled_from(FLOATS), shapes=broadcast_shapes(2), seed=seeds)
def test_binary(name: str, dtype: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    a, b = array(dtype, shapes[0], seed), array(dtype, shapes[1], seed + 1)
    with np.errstate(all="ignore"):
        exact = BINARY[name](a.astype(LD), b.astype(LD))
        assert_close(output(name, a, b), exact, 0 if name in EXACT else 1, [a, b])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@given(shapes=broadcast_shapes(2), seed=seeds)
def test_arithmetic_is_rounded_once(name: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    a, b = (array("float32", shape, seed + i).astype(np.float64) for i, shape in enumerate(shapes))
    with np.errstate(all="ignore"):
        once = BINARY[name](a, b).astype(np.float32)
        result = output(name, a.astype(np.float32), b.astype(np.float32))
    np.testing.assert_array_equal(result, once)


numbers = st.floats(-1e4, 1e4)


@given(dtype=st.sampled_from(FLOATS), shape=shapes(), seed=seeds, alpha=numbers)
def test_elu(dtype: str, shape: tuple[int, ...], seed: int, alpha: float) -> None:
    x = array(dtype, shape, seed)
    cast, wide = LD(np.dtype(dtype).type(alpha)), x.astype(LD)
    with np.errstate(all="ignore"):
        exact = np.maximum(0, wide) + cast * np.expm1(np.minimum(0, wide))
        assert_close(output("elu", x, alpha=alpha), exact, 2, [x])


@given(dtype=st.sampled_from(FLOATS), shape=shapes(), seed=seeds, alpha=numbers)
def test_leaky_relu(dtype: str, shape: tuple[int, ...], seed: int, alpha: float) -> None:
    x = array(dtype, shape, seed)
    cast, wide = LD(np.dtype(dtype).type(alpha)), x.astype(LD)
    with np.errstate(all="ignore"):
        exact = np.maximum(0, wide) + cast * np.minimum(0, wide)
        assert_close(output("leaky_relu", x, alpha=alpha), exact, 1, [x])


@given(dtype=st.sampled_from(FLOATS), shape=shapes(), seed=seeds, alpha=numbers, beta=numbers)
def test_linear_and_hard_sigmoid(dtype: str, shape: tuple[int, ...], seed: int, alpha: float, beta: float) -> None:
    x = array(dtype, shape, seed)
    to = np.dtype(dtype).type
    with np.errstate(all="ignore"):
        exact = LD(to(alpha)) * x.astype(LD) + LD(to(beta))
        assert_close(output("linear", x, alpha=alpha, beta=beta), exact, 1, [x])
        assert_close(output("hard_sigmoid", x, alpha=alpha, beta=beta), np.clip(exact, 0, 1), 1, [x])


bounds = st.one_of(st.none(), st.floats(allow_nan=False, width=32), st.integers(-(10**25), 10**25))


@given(dtype=st.sampled_from(FLOATS), shape=shapes(), seed=seeds, low=bounds, high=bounds)
def test_clamp(dtype: str, shape: tuple[int, ...], seed: int, low: float | None, high: float | None) -> None:
    x, to = array(dtype, shape, seed), np.dtype(dtype).type
    if low is not None and high is not None and low > high:
        low, high = high, low
    with np.errstate(all="ignore"):
        lowest, highest = to(-math.inf if low is None else low), to(math.inf if high is None else high)
        expected = np.where(x < lowest, lowest, np.where(x > highest, highest, x))
        np.testing.assert_array_equal(output("clamp", x, min_value=low, max_value=high), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_clamp_with_a_bound_that_is_nan_does_not_limit_that_side(dtype: str) -> None:
    x = np.array([1.0, -2.0, math.inf, -math.inf, math.nan], dtype)
    np.testing.assert_array_equal(output("clamp", x, min_value=math.nan), x)
    np.testing.assert_array_equal(output("clamp", x, max_value=math.nan), x)
    np.testing.assert_array_equal(
        output("clamp", x, min_value=math.nan, max_value=0.5), np.minimum(x, x.dtype.type(0.5))
    )
    np.testing.assert_array_equal(output("clamp", x, min_value=10**400), np.where(np.isnan(x), x, math.inf))


def test_clamp_of_integers_takes_a_bound_that_is_nan_for_0() -> None:
    assert output("clamp", np.array([-3, 3], np.int8), min_value=math.nan).tolist() == [0, 3]


@pytest.mark.parametrize("name", ["equal", "not_equal", "greater", "greater_or_equal", "lesser", "lesser_or_equal"])
@given(dtype=st.sampled_from(FLOATS), shapes=broadcast_shapes(2), seed=seeds)
def test_comparison(name: str, dtype: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    a, b = array(dtype, shapes[0], seed), array(dtype, shapes[1], seed % 7 + seed)
    unordered = np.isnan(a) | np.isnan(b)
    less, same = (a < b) & ~unordered, (a == b) & ~unordered
    expected = {
        "equal": same,
        "not_equal": ~same,
        "greater": ~less & ~same & ~unordered,
        "greater_or_equal": ~less & ~unordered,
        "lesser": less,
        "lesser_or_equal": less | same,
    }[name]
    np.testing.assert_array_equal(output(name, a, b), expected.astype(np.uint8))


@given(dtype=st.sampled_from(FLOATS), shape=shapes(), seed=seeds)
def test_is_nan_and_is_infinite(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    x = array(dtype, shape, seed)
    np.testing.assert_array_equal(output("is_nan", x), (x != x).astype(np.uint8))
    np.testing.assert_array_equal(output("is_infinite", x), np.isin(x, [np.inf, -np.inf]).astype(np.uint8))


@given(dtype=st.sampled_from(FLOATS), shape=shapes(), seed=seeds)
def test_identity_copies_every_bit(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    x = array(dtype, shape, seed)
    assert_same_bits(output("identity", x), x)


def test_infinities_and_nan() -> None:
    x = np.array([-np.inf, np.inf, np.nan, -0.0], np.float32)
    zero = np.zeros(1, np.float32)
    for name, expected in {
        "hard_swish": [0, np.inf, np.nan, 0],
        "relu": [0, np.inf, np.nan, 0],
        "elu": [-1, np.inf, np.nan, 0],
        "gelu": [0, np.inf, np.nan, 0],
        "sigmoid": [0, 1, np.nan, 0.5],
        "softplus": [0, np.inf, np.nan, np.log(2)],
        "tanh": [-1, 1, np.nan, 0],
        "sign": [-1, 1, 0, 0],
        "reciprocal": [0, 0, np.nan, -np.inf],
        "softsign": [np.nan, np.nan, np.nan, 0],
    }.items():
        np.testing.assert_allclose(output(name, x), np.array(expected, np.float32), 1e-7, err_msg=name)
    np.testing.assert_array_equal(output("leaky_relu", x), np.array([-np.inf, np.inf, np.nan, 0], np.float32))
    np.testing.assert_array_equal(output("prelu", x[1:], zero), np.array([np.inf, np.nan, 0], np.float32))
    np.testing.assert_array_equal(output("prelu", x[1:2], np.full(1, np.inf, np.float32)), [np.inf])
