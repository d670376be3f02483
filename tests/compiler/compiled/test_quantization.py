"""Compiled quantisation against its NumPy semantics: every data type, scales for elements, dimensions and blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.ir import Value
from basalt.ops import numpy_dtype
from basalt.ops.types import integer_bounds

from .forms import EXACT, Bench, Tolerance, benches, fill

QUANTISED = ("int8", "uint8", "int32", "uint32", "int4", "uint4")
FORMS = ("plain", "plain", "transposed", "reversed", "sliced")


def blocked(bench: Bench, rank: int) -> tuple[list[int], list[int]]:
    """A shape, and that of a scale each of whose dimensions divides it."""
    counts = [bench.random.choice((1, 1, 2, 3, 16)) for _ in range(rank)]
    blocks = [bench.random.choice((1, 1, 2, 5, 16, 17)) for _ in range(rank)]
    return [c * b for c, b in zip(counts, blocks)], counts


def parameters(bench: Bench, shape: Sequence[int], float_type: str, quantised: str) -> tuple[Value, Value]:
    scale = (bench.numbers.random(tuple(shape)) + 0.1).astype(float_type)
    low, high = integer_bounds(quantised)
    wide = bench.numbers.integers(max(low, -1000), min(high, 1000), tuple(shape), endpoint=True)
    zero_point = wide.astype(np.int64 if quantised not in ("int4", "uint4") else np.int8).astype(numpy_dtype(quantised))
    forms = ("plain", "constant", "transposed", "sliced")
    return bench.operand(scale, float_type, forms), bench.operand(zero_point, quantised, forms)


@pytest.mark.parametrize("quantised", QUANTISED)
@pytest.mark.parametrize("float_type", ["float32", "float16"])
@settings(max_examples=9)
@given(bench=benches(), rank=st.integers(0, 4))
def test_quantize(float_type: str, quantised: str, bench: Bench, rank: int) -> None:
    shape, counts = blocked(bench, rank)
    scale, zero_point = parameters(bench, counts, float_type, quantised)
    array = bench.numbers.normal(size=shape) * bench.random.choice((1.0, 100.0, 60_000.0))
    with np.errstate(over="ignore"):
        x = bench.operand(array.astype(float_type), float_type, FORMS)
    y = bench.maker.quantize_linear(x, scale, zero_point)
    bench.check(bench.result(y, ("plain", "transposed")), EXACT)


@pytest.mark.parametrize("quantised", QUANTISED)
@pytest.mark.parametrize("float_type", ["float32", "float16"])
@settings(max_examples=9)
@given(bench=benches(), rank=st.integers(0, 4))
def test_dequantize(float_type: str, quantised: str, bench: Bench, rank: int) -> None:
    shape, counts = blocked(bench, rank)
    scale, zero_point = parameters(bench, counts, float_type, quantised)
    x = bench.operand(fill(bench, shape, quantised), quantised, FORMS)
    y = bench.maker.dequantize_linear(x, scale, zero_point)
    bench.check(bench.result(y), Tolerance(ulps=1.0, signed_zeros=False))
