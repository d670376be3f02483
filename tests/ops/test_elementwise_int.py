"""Element-wise operators on integers and truth values against Python's integers, to the ends of every data type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .calling import ANY, INTS, SIGNED, array, assert_same_bits, broadcast_shapes, output, seeds, shapes


def wrap(value: int, dtype: str) -> int:
    """An integer reduced to a data type's range (two's complement)."""
    info = np.iinfo(dtype)
    return (value - info.min) % 2**info.bits + info.min


def elementwise(dtype: str, formula: Callable[..., int], *operands: np.ndarray) -> np.ndarray:
    """The formula over Python integers, of broadcast operands, wrapped to a data type."""
    wide = np.broadcast_arrays(*operands)
    values = [wrap(formula(*(int(v) for v in row)), dtype) for row in zip(*(w.ravel().tolist() for w in wide))]
    return np.array(values, dtype).reshape(wide[0].shape)


def _divide(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _power(a: int, b: int) -> int:
    if b < 0:
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
    return pow(a, b, 2**64)


UNARY: dict[str, Callable[[int], int]] = {
    "abs": abs,
    "neg": lambda a: -a,
    "sign": lambda a: (a > 0) - (a < 0),
    "relu": lambda a: max(a, 0),
}
BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _divide,
    "pow": _power,
    "max": max,
    "min": min,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "greater": lambda a, b: a > b,
    "greater_or_equal": lambda a, b: a >= b,
    "lesser": lambda a, b: a < b,
    "lesser_or_equal": lambda a, b: a <= b,
}
CONNECTIVES: dict[str, Callable[[int, int], bool]] = {
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
}


@pytest.mark.parametrize("name", UNARY)
@given(dtype=st.sampled_from(SIGNED), shape=shapes(), seed=seeds)
def test_unary(name: str, dtype: str, shape: tuple[int, ...], seed: int) -> None:
    x = array(dtype, shape, seed)
    assert_same_bits(output(name, x), elementwise(dtype, UNARY[name], x))


@pytest.mark.parametrize("name", BINARY)
@given(dtype=st.sampled_from(INTS), shapes=broadcast_shapes(2), seed=seeds)
def test_binary(name: str, dtype: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    a, b = array(dtype, shapes[0], seed), array(dtype, shapes[1], seed + 1)
    assert_same_bits(output(name, a, b), elementwise(dtype, BINARY[name], a, b))


@given(dtype=st.sampled_from(SIGNED), shapes=broadcast_shapes(2), seed=seeds)
def test_prelu(dtype: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    x, slope = array(dtype, shapes[0], seed), array(dtype, shapes[1], seed + 1)
    expected = elementwise(dtype, lambda v, s: max(0, v) + s * min(0, v), x, slope)
    assert_same_bits(output("prelu", x, slope), expected)


@pytest.mark.parametrize("name", COMPARISONS)
@given(dtype=st.sampled_from(INTS), shapes=broadcast_shapes(2), seed=seeds)
def test_comparison(name: str, dtype: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    a, b = array(dtype, shapes[0], seed), array(dtype, shapes[1], seed + 1)
    assert_same_bits(output(name, a, b), elementwise("uint8", COMPARISONS[name], a, b))


@pytest.mark.parametrize("name", CONNECTIVES)
@given(shapes=broadcast_shapes(2), seed=seeds)
def test_connective(name: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    a, b = array("uint8", shapes[0], seed), array("uint8", shapes[1], seed + 1)
    assert_same_bits(output(name, a, b), elementwise("uint8", CONNECTIVES[name], a, b))


@given(shape=shapes(), seed=seeds)
def test_logical_not(shape: tuple[int, ...], seed: int) -> None:
    a = array("uint8", shape, seed)
    assert_same_bits(output("logical_not", a), elementwise("uint8", lambda v: not v, a))


@given(dtype=st.sampled_from(INTS), shape=shapes(), seed=seeds)
def test_identity(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    x = array(dtype, shape, seed)
    assert_same_bits(output("identity", x), x)


bounds = st.one_of(st.none(), st.integers(-(2**70), 2**70), st.integers(-9, 9), st.floats(allow_nan=False))


def _bound(value: float | int | None, default: int, dtype: str) -> int:
    """The standard's cast of a number to an integer data type."""
    info = np.iinfo(dtype)
    if value is None:
        return default
    if value in (float("inf"), float("-inf")):
        return int(info.max) if value > 0 else int(info.min)
    return min(max(round(value), int(info.min)), int(info.max))


@given(dtype=st.sampled_from(INTS), shape=shapes(), seed=seeds, low=bounds, high=bounds)
def test_clamp(
    dtype: str, shape: tuple[int, ...], seed: int, low: float | int | None, high: float | int | None
) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    x, info = array(dtype, shape, seed), np.iinfo(dtype)
    least, most = _bound(low, int(info.min), dtype), _bound(high, int(info.max), dtype)
    expected = elementwise(dtype, lambda v: min(max(v, least), most), x)
    assert_same_bits(output("clamp", x, min_value=low, max_value=high), expected)


def test_clamp_keeps_bounds_that_no_double_holds() -> None:
    x = np.array([2**63 - 1, -(2**63)], np.int64)
    clamped = output("clamp", x, min_value=-(2**63) + 1, max_value=2**63 - 2)
    assert clamped.tolist() == [2**63 - 2, -(2**63) + 1]
    assert output("clamp", np.array([2**64 - 1], np.uint64), max_value=2**64 - 3).tolist() == [2**64 - 3]


@given(dtype=st.sampled_from(ANY), shapes=broadcast_shapes(3), seed=seeds)
def test_where(dtype: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    condition = array("uint8", shapes[0], seed)
    true_value, false_value = array(dtype, shapes[1], seed + 1), array(dtype, shapes[2], seed + 2)
    chosen, expected, other = (a.copy() for a in np.broadcast_arrays(condition, true_value, false_value))
    for index in np.ndindex(*chosen.shape):
        if chosen[index] == 0:
            expected[index] = other[index]
    assert_same_bits(output("where", condition, true_value, false_value), expected)
