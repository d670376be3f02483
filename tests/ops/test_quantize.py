"""Linear quantisation against its formula, block by block, in exact numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.ops.types import integer_bounds, numpy_dtype

from .calling import FLOATS, array, assert_close, by_index, output, seeds, shapes

QUANTISED = ("uint8", "int8", "uint32", "int32", "int4", "uint4")


@st.composite
def blocks(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of a scale and that of an input whose dimensions are multiples of it."""
    scale = draw(shapes(0, 4, least=1, limit=40))
    shape = tuple(d * draw(st.sampled_from((1, 2, 3))) for d in scale)
    return scale, shape


def block_of(index: tuple[int, ...], shape: tuple[int, ...], scale: tuple[int, ...]) -> tuple[int, ...]:
    """The position of an element's block in the scale."""
    return tuple(i // (size // count) for i, size, count in zip(index, shape, scale))


def whole(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Integers over a data type's whole range, its ends among them."""
    low, high = integer_bounds(dtype)
    rng = np.random.default_rng(seed)
    values = rng.integers(low, high, shape, endpoint=True)
    return np.where(rng.random(shape) < 0.3, rng.choice([low, high, 0, 1], shape), values).astype(numpy_dtype(dtype))


def scales(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).uniform(-4, 4, shape)).astype(dtype)


@given(dtype=st.sampled_from(QUANTISED), to=st.sampled_from(FLOATS), form=blocks(), seed=seeds)
def test_dequantize(dtype: str, to: str, form: tuple[tuple[int, ...], tuple[int, ...]], seed: int) -> None:
    x, zero = whole(dtype, form[1], seed), whole(dtype, form[0], seed + 1)
    scale = scales(to, form[0], seed)

    def exact(index: tuple[int, ...]) -> float:
        block = block_of(index, form[1], form[0])
        return (int(x[index]) - int(zero[block])) * float(scale[block])

    result = output("dequantize_linear", x, scale, zero)
    overflows = to == "float16" and dtype in ("uint32", "int32")  # the difference, before it is scaled
    if not overflows:
        assert_close(result, by_index(np.dtype(np.float64), form[1], exact), 1, [x])


@given(dtype=st.sampled_from(QUANTISED), source=st.sampled_from(FLOATS), form=blocks(), seed=seeds)
def test_quantize(dtype: str, source: str, form: tuple[tuple[int, ...], tuple[int, ...]], seed: int) -> None:
    x, zero = array(source, form[1], seed), whole(dtype, form[0], seed + 1)
    x = np.where(np.isnan(x), np.ones((), x.dtype), x)
    scale, (low, high) = scales(source, form[0], seed), integer_bounds(dtype)

    def exact(index: tuple[int, ...]) -> int:
        block = block_of(index, form[1], form[0])
        with np.errstate(all="ignore"):
            quotient = float(np.float32(x[index]) / np.float32(scale[block]))
        steps = round(quotient) if math.isfinite(quotient) else int(math.copysign(2**80, quotient))
        return min(max(steps + int(zero[block]), low), high)

    result = output("quantize_linear", x, scale, zero)
    np.testing.assert_array_equal(result.astype(object), by_index(np.dtype(object), form[1], exact))


def test_halves_go_to_the_even_step() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.int8)
    assert output("quantize_linear", x, one, zero).tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_sums_beyond_32_bits_neither_wrap_nor_lose_steps(dtype: str) -> None:
    low, high = integer_bounds(dtype)
    ends = np.array([high, low], dtype)
    difference = output("dequantize_linear", ends, np.ones(2, np.float32), ends[::-1].copy())
    assert difference.tolist() == [float(np.float32(high - low)), -float(np.float32(high - low))]
    near = output(
        "dequantize_linear", np.array([high, low], dtype), np.ones(1, np.float32), np.array([high - 3], dtype)
    )
    assert near[0] == 3.0
    full = output(
        "quantize_linear", np.array([1e30, -1e30, 3.0], np.float32), np.ones(1, np.float32), np.array([5], dtype)
    )
    assert full.tolist() == [high, low, 8]
    large = output("quantize_linear", np.array([-3.0], np.float32), np.ones(1, np.float32), np.array([high], dtype))
    assert large.tolist() == [high - 3]
