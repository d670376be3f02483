"""Reductions, arg_min and arg_max against Python's own arithmetic on each group of elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from basalt.ops.types import WEBNN_TYPES

from .harness import arrays, assert_rounded, float_types, infer, run, shapes, some_axes

summable = st.sampled_from(["float32", "float16", "int32", "uint32", "int64", "uint64"])
any_type = st.sampled_from(WEBNN_TYPES)

REDUCTIONS: dict[str, tuple[st.SearchStrategy[str], Callable[[list[Any]], Any]]] = {
    "reduce_l1": (summable, lambda v: _sum([abs(x) for x in v])),
    "reduce_l2": (float_types, lambda v: math.hypot(*v)),
    "reduce_log_sum": (float_types, lambda v: math.log(math.fsum(v))),
    "reduce_log_sum_exp": (float_types, special.logsumexp),
    "reduce_max": (any_type, max),
    "reduce_mean": (float_types, lambda v: math.fsum(v) / len(v)),
    "reduce_min": (any_type, min),
    "reduce_product": (summable, math.prod),
    "reduce_sum": (summable, lambda v: _sum(v)),
    "reduce_sum_square": (summable, lambda v: _sum([x * x for x in v])),
}


def _sum(values: list[Any]) -> Any:
    return math.fsum(values) if isinstance(values[0], float) else sum(values)


def wrapped(value: int, dtype: np.dtype) -> int:
    """An integer of any size modulo the data type's range."""
    bits = 8 * dtype.itemsize
    value %= 1 << bits
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def reduced(x: np.ndarray, axes: Sequence[int], keep: bool, function: Callable[[list[Any]], Any]) -> np.ndarray:
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.transpose([*rest, *axes])
    exact = np.empty(moved.shape[: len(rest)], np.float64 if x.dtype.kind == "f" else x.dtype)
    for at in np.ndindex(*exact.shape):
        value = function(moved[at].ravel().tolist())
        exact[at] = value if x.dtype.kind == "f" else wrapped(value, x.dtype)
    return exact.reshape([1 if i in axes else d for i, d in enumerate(x.shape)]) if keep else exact


@pytest.mark.parametrize("name", REDUCTIONS)
@given(st.data(), shapes(0, 5, 4), st.booleans())
def test_reduction(name: str, data: st.DataObject, shape: tuple[int, ...], keep: bool) -> None:
    dtypes, function = REDUCTIONS[name]
    rank = len(shape)
    axes = data.draw(st.none() | some_axes(rank))
    x = data.draw(arrays(shape, data.draw(dtypes), 0.1 if name == "reduce_log_sum" else -4))
    (y,) = run(name, input=x, axes=axes, keep_dimensions=keep)
    exact = reduced(x, range(rank) if axes is None else axes, keep, function)
    assert_rounded(y, exact)


@pytest.mark.parametrize("name", ["arg_min", "arg_max"])
@given(st.data(), shapes(1), st.booleans(), st.sampled_from(["int32", "int64"]))
def test_arg(name: str, data: st.DataObject, shape: tuple[int, ...], keep: bool, output: str) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = data.draw(arrays(shape, data.draw(any_type)))
    if data.draw(st.booleans()):
        x = np.sign(x)  # ties
    (y,) = run(name, input=x, axis=axis, keep_dimensions=keep, output_data_type=output)
    extreme = max if name == "arg_max" else min
    exact = reduced(x.astype(np.float64), [axis], keep, lambda v: v.index(extreme(v)))
    assert y.dtype == output
    np.testing.assert_array_equal(y, exact)


@pytest.mark.parametrize("name", [n for n in REDUCTIONS if n != "reduce_log_sum"])
def test_nan_wins(name: str) -> None:
    x = np.array([[1, math.nan, 3], [1, 2, 3]], np.float32)
    np.testing.assert_array_equal(np.isnan(run(name, input=x, axes=[1])[0]), [True, False])


def test_the_first_nan_is_the_extreme() -> None:
    x = np.array([1, math.nan, 3, math.nan], np.float32)
    assert run("arg_max", input=x, axis=0)[0] == run("arg_min", input=x, axis=0)[0] == 1


def test_exponentials_do_not_overflow() -> None:
    x = np.array([[1000, 1000], [-1000, -1000], [-math.inf, -math.inf], [math.inf, 0]], np.float32)
    (y,) = run("reduce_log_sum_exp", input=x, axes=[1])
    np.testing.assert_allclose(y, [1000 + math.log(2), -1000 + math.log(2), -math.inf, math.inf], rtol=1e-7)


def test_sums_in_more_precision() -> None:
    half = np.full(100_000, 0.5, np.float16)
    assert run("reduce_mean", input=half)[0] == 0.5
    assert run("reduce_l2", input=np.full(4, 30000, np.float16))[0] == 60000
    single = np.array([1e8, 1, -1e8], np.float32)
    assert run("reduce_sum", input=single)[0] == 1


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "reduce_mean", "reduce_product"])
def test_no_axes_reduce_nothing(name: str) -> None:
    x = np.array([-2.5, 1, -math.inf, math.nan], np.float32)
    np.testing.assert_array_equal(run(name, input=x, axes=[])[0], x)


@pytest.mark.parametrize(
    ("name", "dtype", "value"),
    [
        ("reduce_sum", "int32", 0),
        ("reduce_product", "float32", 1),
        ("reduce_max", "float32", -math.inf),
        ("reduce_min", "uint8", 255),
        ("reduce_max", "int64", -(2**63)),
        ("reduce_log_sum_exp", "float32", -math.inf),
        ("reduce_mean", "float32", math.nan),
    ],
)
def test_no_elements(name: str, dtype: str, value: float) -> None:
    (y,) = run(name, input=np.empty((2, 0), dtype), axes=[1])
    np.testing.assert_array_equal(y, np.full(2, value, dtype))


def test_symbolic_sizes() -> None:
    assert infer("reduce_sum", input="f32[n, s, 4]", axes=[1]) == ["float32[n, 4]"]
    assert infer("reduce_max", input="i8[n, s]", keep_dimensions=True) == ["int8[1, 1]"]
    assert infer("arg_max", input="f16[n, s]", axis=1) == ["int32[n]"]
