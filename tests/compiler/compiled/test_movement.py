"""Compiled movement, padding, index and scan operators against their NumPy semantics, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.ir import Value
from basalt.ops.types import is_float

from .forms import EXACT, OUTER, RESULT_FORMS, Bench, Tolerance, benches, fill, shapes

DTYPES = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")
INDEX_DTYPES = ("int32", "uint32", "int64")
VIEWS = ("reshape", "transpose", "expand", "reverse", "slice", "identity")
CHAINED = ("transpose", "reverse", "slice", "reshape", "expand")


def factored(bench: Bench, count: int) -> list[int]:
    """A shape of some number of elements."""
    shape = []
    for factor in (2, 3, 2, 5, 7):
        if count % factor == 0 and bench.random.random() < 0.6:
            shape.append(factor)
            count //= factor
    shape.append(count)
    if bench.random.random() < 0.4:
        shape.append(1)
    bench.random.shuffle(shape)
    return shape


def view(bench: Bench, op: str, x: Value) -> Value:
    """A node of a movement operator, with any options."""
    random, rank = bench.random, x.type.rank
    if op == "identity":
        return bench.maker.identity(x)  # type: ignore[no-any-return]
    if op == "reshape":
        return bench.maker.reshape(x, factored(bench, x.type.size))  # type: ignore[no-any-return]
    if op == "transpose":
        order = random.choice((None, random.sample(range(rank), rank)))
        return bench.maker.transpose(x, permutation=order)  # type: ignore[no-any-return]
    if op == "expand":
        grown = [random.choice((1, 2, 3)) if d == 1 else d for d in x.shape]
        lead = [random.choice((1, 2))] * random.choice((0, 1) if rank < 5 else (0,))
        return bench.maker.expand(x, [*lead, *grown])  # type: ignore[no-any-return]
    if op == "reverse":
        axes = random.choice((None, [a for a in range(rank) if random.random() < 0.5]))
        return bench.maker.reverse(x, axes=axes)  # type: ignore[no-any-return]
    starts = [random.randrange(d) for d in x.shape]
    sizes = [random.randint(1, d - b) for d, b in zip(x.shape, starts)]
    steps = random.choice((None, [random.choice((1, 2, 3)) for _ in x.shape]))
    return bench.maker.slice(x, starts, sizes, strides=steps)  # type: ignore[no-any-return]


@pytest.mark.parametrize("op", VIEWS)
@settings(max_examples=15)
@given(bench=benches(), shape=shapes(0, 4), dtype=st.sampled_from(DTYPES))
def test_views(op: str, bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    x = bench.operand(fill(bench, shape, dtype), dtype)
    bench.check(bench.result(view(bench, op, x)), EXACT, optimise=bench.random.random() < 0.5)


@settings(max_examples=60)
@given(bench=benches(), shape=shapes(1, 4, 3000), dtype=st.sampled_from(("float32", "uint8", "int64")))
def test_chains_of_views(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    """Views of views, some of which take a copy; element-wise operators between them see all strides."""
    x = bench.operand(fill(bench, shape, dtype), dtype)
    for _ in range(bench.random.randint(2, 7)):
        if bench.random.random() < 0.25:
            x = bench.maker.add(x, x)
        x = view(bench, bench.random.choice(CHAINED), x)
    bench.check(bench.result(x), Tolerance(signed_zeros=False), optimise=bench.random.random() < 0.5)


@settings(max_examples=24)
@given(bench=benches(), shape=shapes(1), dtype=st.sampled_from(DTYPES))
def test_concat(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    axis = bench.random.randrange(len(shape))
    parts = []
    for _ in range(bench.random.randint(1, 5)):
        part = [bench.random.choice((1, 2, 3)) if i == axis else d for i, d in enumerate(shape)]
        x = bench.operand(fill(bench, part, dtype), dtype)
        parts.append(bench.maker.max(x, x) if bench.random.random() < 0.5 else x)
    if bench.random.random() < 0.4:
        parts.append(bench.random.choice(parts))
    y = bench.maker.concat(parts, axis)
    bench.check([*bench.result(y), *bench.random.sample(parts, bench.random.choice((0, 1)))], EXACT)


@settings(max_examples=18)
@given(bench=benches(), shape=shapes(1), dtype=st.sampled_from(DTYPES))
def test_split(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    axis = bench.random.randrange(len(shape))
    size = shape[axis]
    cuts = sorted(bench.random.sample(range(1, size), min(size - 1, bench.random.choice((0, 1, 3)))))
    splits = [b - a for a, b in zip([0, *cuts], [*cuts, size])]
    parts = bench.maker.split(bench.operand(fill(bench, shape, dtype), dtype), splits, axis=axis)
    back = bench.maker.concat(list(parts)[::-1], axis)
    bench.check([*parts, *bench.result(back)], EXACT, optimise=bench.random.random() < 0.5)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflection"])
@settings(max_examples=18)
@given(bench=benches(), shape=shapes(), dtype=st.sampled_from(DTYPES))
def test_pad(mode: str, bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    most = 4 if prod(d + 8 for d in shape) < 100_000 else 1

    def ends() -> list[int]:
        return [bench.random.randint(0, min(d - 1, most) if mode == "reflection" else most) for d in shape]

    value: Any = bench.random.choice((0, 3)) if not is_float(dtype) else bench.random.choice((0.0, -1.5, float("-inf")))
    x = bench.operand(fill(bench, shape, dtype), dtype)
    x = bench.maker.max(x, x) if bench.random.random() < 0.5 else x
    y = bench.maker.pad(x, ends(), ends(), mode=mode, value=value)
    bench.check([*bench.result(y), *bench.random.choice(([], [x]))], EXACT)


@settings(max_examples=18)
@given(bench=benches(), shape=shapes(0, 5, 4000), dtype=st.sampled_from(DTYPES))
def test_tile(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    x = bench.operand(fill(bench, shape, dtype), dtype)
    times = [bench.random.choice((1, 2, 3) if prod(shape) < 500 else (1, 2)) for _ in shape]
    bench.check(bench.result(bench.maker.tile(x, times)), EXACT)


@settings(max_examples=24)
@given(bench=benches(), shape=shapes(2), dtype=st.sampled_from(DTYPES))
def test_triangular(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    diagonal = bench.random.choice((0, 1, -1, 2, -3, 100, -100, 5000, 2**31 - 1, -(2**31)))
    x = bench.operand(fill(bench, shape, dtype), dtype)
    y = bench.maker.triangular(x, upper=bench.random.random() < 0.5, diagonal=diagonal)
    bench.check(bench.result(y), EXACT)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint32", "int64", "uint64"])
@settings(max_examples=12)
@given(bench=benches(), shape=shapes(1))
def test_cumulative_sum(dtype: str, bench: Bench, shape: tuple[int, ...]) -> None:
    axis = bench.random.randrange(len(shape))
    tame = bench.random.random() < 0.5
    array = bench.numbers.integers(-3, 4, shape).astype(dtype) if tame else fill(bench, shape, dtype, wild=False)
    x = bench.operand(array, dtype)
    exclusive, backward = bench.random.random() < 0.4, bench.random.random() < 0.4
    y = bench.maker.cumulative_sum(x, axis, exclusive=exclusive, reversed=backward)
    exact = tame or not is_float(dtype)
    bench.check(bench.result(y), Tolerance(ulps=0.0 if exact else 1.0, scaled=0.0, signed_zeros=False))


def indices(bench: Bench, shape: Sequence[int], size: int, dtype: str) -> np.ndarray:
    """Indices inside a dimension, counted from either end, or anything that the data type holds."""
    low = 0 if dtype == "uint32" else -size
    array = bench.numbers.integers(low, size, tuple(shape))
    if bench.random.random() < 0.3:
        bounds = np.iinfo(dtype)
        wild = bench.numbers.choice(np.array([bounds.min, bounds.max, size, low - 1, 2**31 - 1]), tuple(shape))
        array = np.where(bench.numbers.random(tuple(shape)) < 0.4, wild, array)
    return array.astype(dtype)


def index_operand(bench: Bench, shape: Sequence[int], size: int) -> Value:
    dtype = bench.random.choice(INDEX_DTYPES)
    forms = ("plain", "plain", "constant", "transposed", "reversed", "stretched")
    return bench.operand(indices(bench, shape, size, dtype), dtype, forms)


@settings(max_examples=30)
@given(bench=benches(), shape=shapes(1, 4), dtype=st.sampled_from(DTYPES), data=st.data())
def test_gather(bench: Bench, shape: tuple[int, ...], dtype: str, data: st.DataObject) -> None:
    axis = bench.random.randrange(len(shape))
    most = max(1, 30_000 * shape[axis] // prod(shape))
    where = data.draw(shapes(0, 3, most).filter(lambda s: prod(s) <= most and len(s) + len(shape) <= 9))
    x = bench.operand(fill(bench, shape, dtype), dtype)
    y = bench.maker.gather(x, index_operand(bench, where, shape[axis]), axis=axis)
    bench.check(bench.result(y), EXACT)


@settings(max_examples=30)
@given(bench=benches(), shape=shapes(1, 4), dtype=st.sampled_from(DTYPES))
def test_gather_elements(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    axis = bench.random.randrange(len(shape))
    where = [bench.random.choice(OUTER) if i == axis else d for i, d in enumerate(shape)]
    x = bench.operand(fill(bench, shape, dtype), dtype)
    y = bench.maker.gather_elements(x, index_operand(bench, where, shape[axis]), axis=axis)
    bench.check(bench.result(y), EXACT)


@settings(max_examples=30)
@given(bench=benches(), shape=shapes(1, 4), dtype=st.sampled_from(DTYPES))
def test_gather_nd(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    depth = bench.random.randint(1, len(shape))
    lead = [bench.random.choice((1, 2, 5)) for _ in range(bench.random.choice((0, 1, 2)))]
    where = index_operand(bench, [*lead, depth], min(shape[:depth]))
    y = bench.maker.gather_nd(bench.operand(fill(bench, shape, dtype), dtype), where)
    bench.check(bench.result(y), EXACT)


@settings(max_examples=30)
@given(bench=benches(), shape=shapes(1, 4), dtype=st.sampled_from(DTYPES))
def test_scatter_elements(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    axis = bench.random.randrange(len(shape))
    count = bench.random.randint(1, min(shape[axis], 8))
    where = [count if i == axis else d for i, d in enumerate(shape)]
    x = bench.operand(fill(bench, shape, dtype), dtype)
    updates = bench.operand(fill(bench, where, dtype), dtype)
    y = bench.maker.scatter_elements(x, index_operand(bench, where, shape[axis]), updates, axis=axis)
    bench.check(bench.result(y, RESULT_FORMS[2:]), EXACT)


@settings(max_examples=30)
@given(bench=benches(), shape=shapes(1, 4), dtype=st.sampled_from(DTYPES))
def test_scatter_nd(bench: Bench, shape: tuple[int, ...], dtype: str) -> None:
    depth = bench.random.randint(1, len(shape))
    lead = [bench.random.choice((1, 2, 5)) for _ in range(bench.random.choice((0, 1, 2)))]
    x = bench.operand(fill(bench, shape, dtype), dtype)
    updates = bench.operand(fill(bench, [*lead, *shape[depth:]], dtype), dtype)
    where = index_operand(bench, [*lead, depth], min(shape[:depth]))
    bench.check(bench.result(bench.maker.scatter_nd(x, where, updates), RESULT_FORMS[2:]), EXACT)


def test_a_transposed_copy_to_places_that_are_apart() -> None:
    bench = Bench(Random(0))
    shape = (1, 16, 8)
    x = bench.input(fill(bench, shape, "int32"), "int32")
    padded = bench.maker.pad(x, (1, 1, 1), (1, 0, 4), mode="constant", value=3)
    bench.check([bench.maker.transpose(padded, permutation=(2, 1, 0))], EXACT)
