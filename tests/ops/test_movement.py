"""Operators that move elements, index by index, and bit by bit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .calling import ANY, array, assert_same_bits, by_index, output, outputs, rows, seeds, shapes

dtypes = st.sampled_from(ANY)


@given(dtype=dtypes, shape=shapes(least=1), seed=seeds, data=st.data())
def test_reshape(dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    left, target = math.prod(shape), []
    for _ in range(data.draw(st.integers(0, 6))):
        target.append(data.draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0])))
        left //= target[-1]
    target = data.draw(st.permutations(target + ([left] if left != 1 or not target else [])))
    result = output("reshape", x, target)
    assert result.shape == tuple(target)
    assert_same_bits(result.ravel(), x.ravel())


@given(dtype=dtypes, shape=shapes(), seed=seeds, data=st.data())
def test_transpose(dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    order = data.draw(st.permutations(range(len(shape))))
    expected = by_index(
        x.dtype, tuple(shape[i] for i in order), lambda index: x[tuple(index[order.index(d)] for d in range(x.ndim))]
    )
    assert_same_bits(output("transpose", x, permutation=order), expected)
    backward = list(range(x.ndim))[::-1]
    assert_same_bits(output("transpose", x), output("transpose", x, permutation=backward))


@given(dtype=dtypes, shape=shapes(least=1, limit=60), seed=seeds, data=st.data())
def test_expand(dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, tuple(data.draw(st.sampled_from((1, d))) for d in shape), seed)
    leading = data.draw(st.lists(st.integers(1, 3), max_size=min(2, 8 - len(shape))))
    target = [*leading, *shape]

    def source(index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if size == 1 else i for i, size in zip(index[len(leading) :], x.shape))

    assert_same_bits(output("expand", x, target), by_index(x.dtype, tuple(target), lambda index: x[source(index)]))


@given(dtype=dtypes, shape=shapes(), seed=seeds, data=st.data())
def test_reverse(dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    axes = data.draw(st.one_of(st.none(), st.sets(st.integers(0, max(x.ndim - 1, 0)), max_size=x.ndim)))
    turned = range(x.ndim) if axes is None else axes
    expected = by_index(
        x.dtype, shape, lambda index: x[tuple(shape[d] - 1 - i if d in turned else i for d, i in enumerate(index))]
    )
    assert_same_bits(output("reverse", x, axes=None if axes is None else list(axes)), expected)


@given(dtype=dtypes, shape=shapes(least=1), seed=seeds, data=st.data())
def test_slice(dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    starts = [data.draw(st.integers(0, d - 1)) for d in shape]
    sizes = [data.draw(st.integers(1, d - s)) for d, s in zip(shape, starts)]
    strides = data.draw(st.one_of(st.none(), st.tuples(*(st.sampled_from((1, 2, 3, 2**32 - 1)) for _ in shape))))
    steps = strides or (1,) * len(shape)
    expected = by_index(
        x.dtype,
        tuple(len(range(0, n, s)) for n, s in zip(sizes, steps)),
        lambda index: x[tuple(b + i * s for i, b, s in zip(index, starts, steps))],
    )
    assert_same_bits(output("slice", x, starts, sizes, strides=strides), expected)


@given(dtype=dtypes, shape=shapes(1, least=1), seed=seeds, data=st.data())
def test_split_and_concat(dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    axis = data.draw(st.integers(0, x.ndim - 1))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(shape[axis] - 1, 1)), max_size=3))) if shape[axis] > 1 else []
    ends = [*cuts, shape[axis]]
    sizes = [b - a for a, b in itertools.pairwise([0, *ends])]
    parts = outputs("split", x, sizes, axis=axis)
    assert [p.shape[axis] for p in parts] == sizes
    begin = 0
    for part in parts:
        moved = by_index(x.dtype, part.shape, lambda i, b=begin: x[(*i[:axis], i[axis] + b, *i[axis + 1 :])])
        assert_same_bits(part, moved)
        begin += part.shape[axis]
    assert_same_bits(output("concat", parts, axis), x)


@given(dtype=dtypes, shape=shapes(1, 4, least=1, limit=60), count=st.integers(1, 4), seed=seeds)
def test_split_into_equal_parts(dtype: str, shape: tuple[int, ...], count: int, seed: int) -> None:
    x = array(dtype, (shape[0] * count, *shape[1:]), seed)
    parts = outputs("split", x, count)
    assert len(parts) == count
    assert_same_bits(np.stack(parts).reshape(x.shape), x)


def test_concat_of_one_and_of_empty_tensors() -> None:
    x = array("int32", (2, 3), 1)
    assert_same_bits(output("concat", [x], 1), x)
    assert_same_bits(output("concat", [x, np.empty((0, 3), np.int32)], 0), x)


MODES = ("constant", "edge", "reflection")


def _padded_source(
    index: tuple[int, ...], begin: list[int], shape: tuple[int, ...], mode: str
) -> tuple[int, ...] | None:
    """Where an element of the padded tensor comes from; None for the padding value."""
    source = []
    for i, b, size in zip(index, begin, shape):
        position = i - b
        if mode == "reflection":
            position = abs(position)
            position = position if position < size else 2 * (size - 1) - position
        elif mode == "edge":
            position = min(max(position, 0), size - 1)
        elif not 0 <= position < size:
            return None
        source.append(position)
    return tuple(source)


@pytest.mark.parametrize("mode", MODES)
@given(dtype=dtypes, shape=shapes(0, 4, least=1, limit=60), seed=seeds, data=st.data())
def test_pad(mode: str, dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    most = [min(3, d - 1) if mode == "reflection" else 2 for d in shape]
    begin = [data.draw(st.integers(0, m)) for m in most]
    end = [data.draw(st.integers(0, m)) for m in most]
    target = tuple(b + d + e for b, d, e in zip(begin, shape, end))
    assume(math.prod(target) <= 2000)
    value = data.draw(st.integers(-100, 100))
    info = np.iinfo(dtype) if dtype not in ("float16", "float32") else None
    filler = x.dtype.type(min(max(value, info.min), info.max) if info else value)

    def element(index: tuple[int, ...]) -> np.generic:
        source = _padded_source(index, begin, shape, mode)
        return filler if source is None else x[source]

    assert_same_bits(output("pad", x, begin, end, mode=mode, value=value), by_index(x.dtype, target, element))


@given(dtype=dtypes, shape=shapes(0, 4, limit=60), seed=seeds, data=st.data())
def test_tile(dtype: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    counts = [data.draw(st.integers(1, 3)) for _ in shape]
    expected = by_index(
        x.dtype,
        tuple(d * n for d, n in zip(shape, counts)),
        lambda index: x[tuple(i % d for i, d in zip(index, shape))],
    )
    assert_same_bits(output("tile", x, counts), expected)


@given(
    dtype=dtypes,
    shape=shapes(2),
    seed=seeds,
    upper=st.booleans(),
    diagonal=st.one_of(st.integers(-8, 8), st.sampled_from([2**31 - 1, -(2**31)])),
)
def test_triangular(dtype: str, shape: tuple[int, ...], seed: int, upper: bool, diagonal: int) -> None:
    x = array(dtype, shape, seed)

    def element(index: tuple[int, ...]) -> np.generic:
        offset = index[-1] - index[-2]
        return x[index] if (offset >= diagonal if upper else offset <= diagonal) else x.dtype.type(0)

    result = output("triangular", x, upper=upper, diagonal=diagonal)
    assert_same_bits(result, by_index(x.dtype, shape, element))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reversed_", [False, True])
@given(shape=shapes(1), seed=seeds, data=st.data())
def test_cumulative_sum(
    dtype: str, exclusive: bool, reversed_: bool, shape: tuple[int, ...], seed: int, data: st.DataObject
) -> None:
    floating = dtype.startswith("float")
    x = array(dtype, shape, seed)
    if floating:
        x = np.clip(np.nan_to_num(x), -1000, 1000)
    axis = data.draw(st.integers(0, x.ndim - 1))
    expected = np.zeros(shape, np.float64 if floating else object)
    for index in rows(shape):
        steps = range(index[axis], shape[axis]) if reversed_ else range(index[axis] + 1)
        terms = [x[(*index[:axis], i, *index[axis + 1 :])].item() for i in steps if i != index[axis] or not exclusive]
        expected[index] = math.fsum(terms) if floating else sum(terms) % 2 ** (8 * x.dtype.itemsize)
    result = output("cumulative_sum", x, axis, exclusive=exclusive, reversed=reversed_)
    if floating:
        np.testing.assert_allclose(result, expected.astype(dtype), rtol=2e-3 if dtype == "float16" else 2e-7, atol=1e-9)
    else:
        np.testing.assert_array_equal(result.astype(object) % 2 ** (8 * x.dtype.itemsize), expected)


def test_cumulative_sum_of_infinities() -> None:
    x = np.array([1, np.inf, 2], np.float32)
    assert output("cumulative_sum", x, 0, exclusive=True).tolist() == [0, 1, np.inf]
