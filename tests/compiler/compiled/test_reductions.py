"""Compiled reductions, softmax and normalizations against their NumPy semantics."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt import ops
from basalt.compiler.ir import Value
from basalt.ops import numpy_dtype
from basalt.ops.types import is_float

from .forms import EXACT, Bench, Tolerance, benches, fill, shapes

REDUCTIONS = sorted(name for name in ops.all_operators() if name.startswith("reduce_"))
DTYPES = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")
LOGARITHMS = ("reduce_log_sum", "reduce_log_sum_exp")
OPERAND_FORMS = ("plain", "plain", "transposed", "reversed", "sliced", "joined", "stretched")


def axes_of(bench: Bench, rank: int) -> list[int] | None:
    """Axes to reduce: all, the last ones, the first ones, or any."""
    cut = bench.random.randint(0, rank)
    some = bench.random.sample(range(rank), bench.random.randint(0, rank))
    return bench.random.choice((None, list(range(cut, rank)), list(range(cut)), some))


def whole_numbers(bench: Bench, op: str, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Elements whose sums and products a float holds exactly, in whatever order they are combined."""
    if op == "reduce_product":
        return bench.numbers.choice((1.0, -1.0, 1.0, 2.0 if prod(shape) < 100 else 1.0), shape).astype(dtype)
    return bench.numbers.integers(-3, 4, shape).astype(dtype)


def some_numbers(bench: Bench, op: str, shape: Sequence[int], dtype: str) -> np.ndarray:
    array = bench.numbers.normal(size=shape)
    if op == "reduce_log_sum_exp":
        return (array * bench.random.choice((1.0, 100.0))).astype(dtype)
    if op == "reduce_product":
        return np.exp(array * 0.01).astype(dtype)
    return np.abs(array).astype(dtype) if op == "reduce_log_sum" else array.astype(dtype)


def room(op: str, dtype: str, count: int, *, exact: bool) -> Tolerance:
    """How far a result may be off: the roundings of a sum, and float16's own."""
    if not is_float(dtype) or op in ("reduce_max", "reduce_min"):
        return Tolerance(signed_zeros=False)
    if exact and op not in LOGARITHMS:
        return Tolerance(ulps=1.0 if op == "reduce_l2" and dtype == "float16" else 0.0, signed_zeros=False)
    half = 1.0 if dtype == "float16" else 0.0
    if op in LOGARITHMS:
        return Tolerance(ulps=8.0, scaled=2.0**-22 * max(count, 4) ** 0.5, signed_zeros=False)
    return Tolerance(ulps=4.0 + half + count**0.5 * (8 if op == "reduce_product" else 1), scaled=2e-6)


@pytest.mark.parametrize("op", REDUCTIONS)
@settings(max_examples=15)
@given(bench=benches(), shape=shapes(), data=st.data())
def test_reduction(op: str, bench: Bench, shape: tuple[int, ...], data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([d for d in DTYPES if d in ops.get(op).operands[0].dtypes]))
    axes, keep = axes_of(bench, len(shape)), bench.random.random() < 0.5
    exact = op not in LOGARITHMS and bench.random.random() < 0.6
    if not is_float(dtype) or op in ("reduce_max", "reduce_min"):
        array = fill(bench, shape, dtype)
    else:
        array = (whole_numbers if exact else some_numbers)(bench, op, shape, dtype)
    if not exact and is_float(dtype) and op not in ("reduce_max", "reduce_min"):
        # Sums that cancel say nothing about single elements.
        array = np.abs(array) if op not in LOGARITHMS else array
    y = bench.maker.call(op, bench.operand(array, dtype, OPERAND_FORMS), axes=axes, keep_dimensions=keep)
    count = prod(shape if axes is None else [shape[a] for a in axes])
    bench.check(bench.result(y), room(op, dtype, count, exact=exact))


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_special_values_of_floats(op: str, axis: int) -> None:
    """NaN reaches its own results, infinities stay, and neither reaches a neighbour's."""
    array = np.abs(np.random.default_rng(0).normal(size=(70, 70))).astype(np.float32)
    # What is squared or multiplied in float32 may overflow where the result would not.
    large = 3e18 if op in ("reduce_l2", "reduce_product") else 3e38
    for k, special in enumerate((np.nan, np.inf, -np.inf, -0.0, 1e-40, large)):
        array[(10 * k + 3, 5 * k + 2)[axis], (10 * k + 3, 5 * k + 2)[1 - axis]] = special
    with np.errstate(over="ignore"):
        bench = Bench(Random(1))
        y = bench.maker.call(op, bench.input(array, "float32"), axes=[axis])
        bench.check([y], Tolerance(ulps=12.0, scaled=1e-6, signed_zeros=False))


@pytest.mark.parametrize("op", REDUCTIONS)
def test_nothing_to_reduce(op: str) -> None:
    """No axes, axes of size 1, a scalar, and empty tensors."""
    array = np.array([[0.5, 2.0, 3.0]], np.float32)
    for axes in ([], [0]):
        for keep in (False, True):
            bench = Bench(Random(0))
            y = bench.maker.call(op, bench.input(array, "float32"), axes=axes, keep_dimensions=keep)
            bench.check([y], Tolerance(ulps=2.0))
    bench = Bench(Random(0))
    bench.check([bench.maker.call(op, bench.input(np.array(0.5, np.float32), "float32"))], Tolerance(ulps=2.0))


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_empty_reduction(op: str, shape: tuple[int, ...]) -> None:
    """Results that combine no element are what the reduction starts from."""
    for axes in ([0], [len(shape) - 1], None):
        bench = Bench(Random(0))
        x = bench.input(np.zeros(shape, np.float32), "float32")
        bench.check([bench.maker.call(op, x, axes=axes)], EXACT)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@settings(max_examples=24)
@given(bench=benches(), shape=shapes(1))
def test_softmax(dtype: str, bench: Bench, shape: tuple[int, ...]) -> None:
    array = (bench.numbers.normal(size=shape) * bench.random.choice((1, 30))).astype(dtype)
    x = bench.operand(array, dtype, OPERAND_FORMS)
    y = bench.maker.softmax(x, bench.random.randrange(len(shape)))
    bench.check(bench.result(y), Tolerance(ulps=1.0 if dtype == "float16" else 64.0, scaled=3e-7), optimise=True)


def _affine(bench: Bench, dtype: str, shape: Sequence[int]) -> dict[str, Value]:
    given = {}
    for name in ("scale", "bias"):
        if bench.random.random() < 0.6:
            array = bench.numbers.normal(size=shape).astype(dtype)
            given[name] = bench.operand(array, dtype, ("plain", "constant", "transposed", "sliced"))
    return given


def _tolerance(dtype: str) -> Tolerance:
    # Where all elements of a row are equal, what is left is the mean's rounding, as large as that of the elements.
    scaled = 2e-3 if dtype == "float16" else 4e-6
    return Tolerance(ulps=2.0, scaled=scaled, absolute=scaled, signed_zeros=False)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@settings(max_examples=18)
@given(bench=benches(), shape=shapes(1))
def test_batch_normalization(dtype: str, bench: Bench, shape: tuple[int, ...]) -> None:
    axis = bench.random.randrange(len(shape))
    size = (shape[axis],)
    x = bench.operand(bench.numbers.normal(size=shape).astype(dtype), dtype)
    mean, variance = (bench.numbers.random(size).astype(dtype) + numpy_dtype(dtype).type(0.1) for _ in range(2))
    given_mean, given_variance = (bench.operand(v, dtype, ("plain", "constant", "sliced")) for v in (mean, variance))
    y = bench.maker.batch_normalization(x, given_mean, given_variance, axis=axis, **_affine(bench, dtype, size))
    bench.check(bench.result(y), _tolerance(dtype), optimise=bench.random.random() < 0.5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@settings(max_examples=18)
@given(bench=benches(), shape=shapes())
def test_layer_normalization(dtype: str, bench: Bench, shape: tuple[int, ...]) -> None:
    axes = axes_of(bench, len(shape)) or list(range(1, len(shape)))
    x = bench.operand(bench.numbers.normal(size=shape).astype(dtype), dtype, OPERAND_FORMS[:-1])
    affine = _affine(bench, dtype, [shape[a] for a in axes])
    y = bench.maker.layer_normalization(x, axes=axes, epsilon=0.1, **affine)
    bench.check(bench.result(y), _tolerance(dtype), optimise=bench.random.random() < 0.7)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@settings(max_examples=18)
@given(bench=benches(), data=st.data())
def test_instance_normalization(dtype: str, bench: Bench, data: st.DataObject) -> None:
    sizes = [data.draw(st.sampled_from((1, 2, 3, 7, 16, 17))) for _ in range(4)]
    layout = bench.random.choice(("nchw", "nhwc"))
    x = bench.operand(bench.numbers.normal(size=sizes).astype(dtype), dtype, OPERAND_FORMS)
    affine = _affine(bench, dtype, (sizes[layout.index("c")],))
    y = bench.maker.instance_normalization(x, layout=layout, epsilon=0.1, **affine)
    bench.check(bench.result(y), _tolerance(dtype), optimise=bench.random.random() < 0.7)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_normalization_keeps_small_differences_of_large_numbers(axis: int) -> None:
    """The variance is computed from differences, not from squares, which would leave no digit of it."""
    bench = Bench(Random(3))
    array = (1000 + bench.numbers.normal(size=(20, 30, 40)) * 0.1).astype(np.float32)
    y = bench.maker.layer_normalization(bench.input(array, "float32"), axes=[axis])
    bench.check([y], Tolerance(scaled=2e-3), optimise=True)


@pytest.mark.parametrize("shape", [(1 << 20,), (1 << 20, 3), (3, 1 << 19), (100_003,), (1 << 18, 5)])
def test_long_sums_keep_their_digits(shape: tuple[int, ...]) -> None:
    """A running total a million times larger than its terms would round each of them the same way."""
    array = np.full(shape, 0.1, np.float32)
    for axes in ([0], [len(shape) - 1], None):
        bench = Bench(Random(0))
        y = bench.maker.reduce_sum(bench.input(array, "float32"), axes=axes)
        bench.check([y], Tolerance(ulps=100.0))


@pytest.mark.parametrize("op", ["reduce_sum", "reduce_max", "reduce_product", "reduce_min"])
def test_rows_of_equal_elements(op: str) -> None:
    """An operand that is stretched along the reduced axes."""
    for count in (1, 5, 100, 5000):
        bench = Bench(Random(0))
        x = bench.input(np.array([[0.7], [1.0], [-1.0]], np.float32), "float32")
        wide = bench.maker.expand(x, (3, count))
        y = bench.maker.call(op, bench.maker.neg(wide), axes=[1])
        bench.check([y], Tolerance(ulps=1.0 if op != "reduce_product" else count), optimise=True)
