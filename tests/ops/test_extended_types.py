"""Data types beyond the standard's: moved bit by bit, and computed with one rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from basalt.ops import TensorType, get, numpy_dtype
from basalt.ops.casts import cast

from .calling import assert_same_bits, tensor
from .test_validation import ACCEPTED, Call

EXTENDED = (
    "float64",
    "bfloat16",
    "int16",
    "uint16",
    "bool",
    "int4",
    "uint4",
    "float8_e4m3fn",
    "float8_e5m2",
    "complex64",
)
MOVED = ("reshape", "transpose", "expand", "reverse", "slice", "split", "concat", "tile", "gather", "gather_elements")
MOVED += ("gather_nd", "identity", "where")
CALLS = [call for call, _ in ACCEPTED if call.name in MOVED]


def evaluate(name: str, operands: list[np.ndarray], *positional: Any, **options: Any) -> list[np.ndarray]:
    operator = get(name)
    types = [TensorType(x.dtype.name, x.shape) for x in operands]
    outputs, attrs = operator.check(types, operator.attributes(positional, options), extended=True)
    results = [np.asarray(r) for r in operator.evaluate(operator.bind(operands), attrs, outputs)]
    assert [(r.dtype.name, r.shape) for r in results] == [(o.dtype, o.shape) for o in outputs]
    return results


def values(dtype: str, count: int) -> np.ndarray:
    """Values of which each data type holds the most: bit patterns, but truth values and 4 bits where these are few."""
    random = np.random.default_rng(count)
    if dtype in ("bool", "int4", "uint4"):
        return random.integers(0, 8, count).astype(np.int8).astype(numpy_dtype(dtype))
    return np.frombuffer(random.bytes(count * numpy_dtype(dtype).itemsize), numpy_dtype(dtype))


@pytest.mark.parametrize("dtype", EXTENDED)
@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_moved_bit_by_bit(call: Call, dtype: str) -> None:
    """Positions are moved first, and say where each element must be."""
    positions, operands = [], []
    total = sum(math.prod(tensor(t).shape) for t in call.types)  # type: ignore[misc, arg-type]
    pool, begin = values(dtype, total), 0
    for kind in map(tensor, call.types):
        shape = tuple(int(d) for d in kind.shape)  # type: ignore[arg-type]
        place = np.arange(begin, begin + math.prod(shape), dtype=np.int64).reshape(shape)
        begin += math.prod(shape)
        fixed = np.resize(np.array([0, 1, 1], kind.dtype), shape) if kind.dtype != "float32" else None
        positions.append(place if fixed is None else fixed)
        operands.append(pool[place] if fixed is None else fixed)
    moved = evaluate(call.name, positions, *call.positional, **call.options)
    for result, place in zip(evaluate(call.name, operands, *call.positional, **call.options), moved, strict=True):
        assert_same_bits(result, pool[place])


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_arithmetic_is_rounded_once(dtype: str) -> None:
    random = np.random.default_rng(3)
    a, b = (cast(random.normal(0, 10, 1000), dtype) for _ in range(2))
    wide = a.astype(np.float64), b.astype(np.float64)
    for name, exact in {
        "add": wide[0] + wide[1], "sub": wide[0] - wide[1], "mul": wide[0] * wide[1], "div": wide[0] / wide[1],
        "max": np.maximum(*wide), "prelu": np.where(wide[0] < 0, wide[0] * wide[1], wide[0]),
    }.items():  # fmt: skip
        assert_same_bits(evaluate(name, [a, b])[0], cast(exact, dtype))
    for name, exact in {"exp": np.exp(wide[0]), "tanh": np.tanh(wide[0]), "relu": np.maximum(wide[0], 0)}.items():
        assert_same_bits(evaluate(name, [a])[0], cast(exact, dtype))


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_short_integers_wrap_around(dtype: str) -> None:
    a, b = np.array([2**15 - 1, 7, 0], dtype), np.array([1, 3, 1], dtype)
    wide = a.astype(int), b.astype(int)
    assert_same_bits(evaluate("add", [a, b])[0], (wide[0] + wide[1]).astype(dtype))
    assert_same_bits(evaluate("sub", [a, b])[0], (wide[0] - wide[1]).astype(dtype))
    assert evaluate("div", [a, b])[0].tolist() == [2**15 - 1, 2, 0]


def test_truth_values() -> None:
    a, b = np.array([True, True, False]), np.array([True, False, False])
    assert evaluate("logical_and", [a, b])[0].tolist() == [1, 0, 0]
    assert evaluate("logical_xor", [a, b])[0].tolist() == [0, 1, 0]
    assert evaluate("logical_not", [a])[0].tolist() == [0, 0, 1]
    assert evaluate("where", [a, b, a])[0].tolist() == [True, False, False]


def test_padding_of_other_data_types() -> None:
    for dtype in EXTENDED:
        x = values(dtype, 4)
        (padded,) = evaluate("pad", [x], [1], [2], value=1)
        one = np.array([1]).astype(x.dtype)
        assert_same_bits(padded, np.concatenate([one, x, one, one]))
        assert_same_bits(evaluate("pad", [x], [1], [1], mode="edge")[0], x[[0, 0, 1, 2, 3, 3]])
