"""Arithmetic primitives against NumPy, over the edges of every register type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from .loops import SUFFIXES, Kernel, Loop, binary, unary
from .values import FLOATS, INTEGERS, assert_same, pairs, samples

Array = npt.NDArray[Any]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _maximum(x: Array, y: Array) -> Array:
    equal = np.where(np.signbit(x), y, x)
    return np.where(x == y, equal, np.maximum(x, y))


FLOAT_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "radd": np.add,
    "rmul": np.multiply,
    "rem": np.fmod,
    "mod": np.mod,
    "max": _maximum,
    "min": lambda x, y: -_maximum(-x, -y),
}
FLOAT_UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "trunc": np.trunc,
    "sqrt": np.sqrt,
    "rcp": lambda x: x.dtype.type(1) / x,
    "relu": lambda x: np.where(x < 0, x.dtype.type(0), x),
}


def _exact(operation: Callable[[int, int], int]) -> Callable[[Array, Array], Array]:
    """Python's unbounded `operation`, wrapped into the operands' type."""

    def wrapped(x: Array, y: Array) -> Array:
        mask = 2 ** (8 * x.dtype.itemsize) - 1
        results = [operation(int(a), int(b)) & mask for a, b in zip(x, y)]
        return np.array(results, f"u{x.dtype.itemsize}").view(x.dtype)

    return wrapped


def _quotient(x: int, y: int) -> int:
    if y == 0:
        return 0
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _shift_left(x: int, count: int) -> int:
    return x << count if 0 <= count < 64 else 0


def _shift_right(x: int, count: int) -> int:
    return x >> (count if 0 <= count < 64 else 64)


INTEGER_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": _quotient,
    "rem": lambda x, y: x - y * _quotient(x, y) if y else 0,
    "mod": lambda x, y: x % y if y else 0,
    "max": max,
    "min": min,
    "rmax": max,
    "rmin": min,
    "radd": lambda x, y: x + y,
    "rmul": lambda x, y: x * y,
    "bitand": lambda x, y: x & y,
    "bitor": lambda x, y: x | y,
    "bitxor": lambda x, y: x ^ y,
}
INTEGER_UNARY: dict[str, Callable[[int], int]] = {
    "neg": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "bitnot": lambda x: ~x,
}
COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_binary_float(name: str, dtype: str) -> None:
    x, y = pairs(dtype)
    assert_same(binary(f"{name}_{SUFFIXES[dtype]}", dtype)(x, y), FLOAT_BINARY[name](x, y))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_unary_float(name: str, dtype: str) -> None:
    x = samples(dtype)
    assert_same(unary(f"{name}_{SUFFIXES[dtype]}", dtype)(x), FLOAT_UNARY[name](x))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_binary_integer(name: str, dtype: str) -> None:
    x, y = pairs(dtype)
    assert_same(binary(f"{name}_{SUFFIXES[dtype]}", dtype)(x, y), _exact(INTEGER_BINARY[name])(x, y))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_UNARY)
def test_unary_integer(name: str, dtype: str) -> None:
    x = samples(dtype)
    expected = _exact(lambda a, _: INTEGER_UNARY[name](a))(x, x)
    assert_same(unary(f"{name}_{SUFFIXES[dtype]}", dtype)(x), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype: str) -> None:
    """A count of the width or more moves every bit out, a negative one counts as large."""
    x, suffix = samples(dtype), SUFFIXES[dtype]
    width = 8 * x.dtype.itemsize
    for count in (0, 1, width - 1, width, width + 1, 100):
        y = np.full_like(x, count)
        assert_same(binary(f"shl_{suffix}", dtype)(x, y), _exact(_shift_left)(x, y))
        assert_same(binary(f"shr_{suffix}", dtype)(x, y), _exact(_shift_right)(x, y))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(name: str, dtype: str) -> None:
    x, y = pairs(dtype)
    assert_same(binary(f"{name}_{SUFFIXES[dtype]}", dtype, "bool")(x, y), COMPARISONS[name](x, y))


@pytest.mark.parametrize("dtype", FLOATS)
def test_classification(dtype: str) -> None:
    x, suffix = samples(dtype), SUFFIXES[dtype]
    assert_same(Loop(f"bool_u8(isnan_{suffix}(x0))", (dtype,), "bool")(x), np.isnan(x))
    assert_same(Loop(f"bool_u8(isinf_{suffix}(x0))", (dtype,), "bool")(x), np.isinf(x))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_select_and_clamp(dtype: str) -> None:
    (x, y), suffix = pairs(dtype), SUFFIXES[dtype]
    chosen = Loop(f"select_{suffix}(lt_{suffix}(x0, x1), x0, x1)", (dtype, dtype), dtype)
    assert_same(chosen(x, y), np.where(x < y, x, y))
    clamped = Loop(f"clamp_{suffix}(x0, const_{suffix}(3), const_{suffix}(100))", (dtype,), dtype)
    assert_same(clamped(x), np.clip(x, 3, 100).astype(x.dtype))


def test_fused_multiply_add_rounds_once() -> None:
    x = np.float32([1 + 2**-12, 3.0])
    y = np.float32([1 - 2**-12, 5.0])
    z = np.float32([-1, 0.5])
    fused = Loop("fma_f32(x0, x1, x2)", ("float32",) * 3, "float32")
    assert fused(x, y, z).tolist() == [-(2.0**-24), 15.5]


def test_logic_takes_any_nonzero_as_true() -> None:
    x, y = (grid.ravel() for grid in np.meshgrid(np.uint8([0, 1, 2, 255]), np.uint8([0, 1, 4, 128])))
    for name, expected in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.items():
        assert_same(binary(f"{name}_u8", "uint8")(x, y), expected(x, y).view(np.uint8))
    assert_same(unary("not_u8", "uint8")(x), np.logical_not(x).view(np.uint8))
    assert_same(Loop("bool_u8(u8_bool(x0))", ("uint8",), "uint8")(x), (x != 0).view(np.uint8))


REDUCTION = """
def k(table, start, stop):
    x = ptr(table, 0)
    total = const_{t}({first})
    for i in range(start, stop):
        total = {name}_{t}(total, load_{t}(x, i))
    store_{t}(ptr(table, 1), 0, total)
"""


def _reduce(name: str, first: str, x: Array) -> tuple[Any, str]:
    kernel = Kernel(REDUCTION.format(name=name, first=first, t=SUFFIXES[str(x.dtype)]))
    out = np.empty(1, x.dtype)
    kernel([x, out], 0, x.size)
    return out[0], kernel.assembly


@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions(dtype: str) -> None:
    x = np.random.default_rng(1).uniform(0.99, 1.01, 1003).astype(dtype)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    assert _reduce("radd", "0.0", x)[0] == pytest.approx(x.sum(dtype=np.float64), rel=tolerance)
    assert _reduce("rmul", "1.0", x)[0] == pytest.approx(x.prod(dtype=np.float64), rel=tolerance)
    assert _reduce("rmax", "-1e999", x)[0] == x.max()
    assert _reduce("rmin", "1e999", x)[0] == x.min()
    for place in (0, 1, 500, 1002):
        holed = x.copy()
        holed[place] = np.nan
        assert np.isnan(_reduce("rmax", "-1e999", holed)[0])
        assert np.isnan(_reduce("rmin", "1e999", holed)[0])
