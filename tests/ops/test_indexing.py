"""Gathering and scattering against loops over indices; no index reaches outside."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .calling import ANY, array, assert_same_bits, by_index, output, rows, seeds, shapes

INDEX_TYPES = ("int32", "uint32", "int64")
dtypes = st.sampled_from(ANY)
index_dtypes = st.sampled_from(INDEX_TYPES)


def indices_of(dtype: str, shape: tuple[int, ...], size: int, seed: int) -> np.ndarray:
    """Indices into a dimension: inside, negative, outside, and at the ends of their data type."""
    rng, info = np.random.default_rng(seed), np.iinfo(dtype)
    near = rng.integers(max(-2 * size, info.min), 2 * size, shape, endpoint=True)
    ends = rng.choice(np.array([info.min, info.max, info.min + 1], dtype), shape)
    return np.where(rng.random(shape) < 0.1, ends, near.astype(dtype)).astype(dtype)


def position(index: int, size: int) -> int:
    """What an index means: counted from the end if negative, and moved inside."""
    return min(max(index + size if index < 0 else index, 0), size - 1)


@given(dtype=dtypes, kind=index_dtypes, shape=shapes(1, 4, least=1, limit=60), seed=seeds, data=st.data())
def test_gather(dtype: str, kind: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    axis = data.draw(st.integers(0, x.ndim - 1))
    room = min(3, 9 - x.ndim)
    indices = indices_of(kind, data.draw(shapes(0, room, limit=12).filter(lambda s: len(s) <= room)), shape[axis], seed)
    k = indices.ndim

    def element(index: tuple[int, ...]) -> np.generic:
        at = position(int(indices[index[axis : axis + k]]), shape[axis])
        return x[(*index[:axis], at, *index[axis + k :])]

    target = (*shape[:axis], *indices.shape, *shape[axis + 1 :])
    assert_same_bits(output("gather", x, indices, axis=axis), by_index(x.dtype, target, element))


@given(dtype=dtypes, kind=index_dtypes, shape=shapes(1, least=1, limit=100), seed=seeds, data=st.data())
def test_gather_elements(dtype: str, kind: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    axis = data.draw(st.integers(0, x.ndim - 1))
    target = (*shape[:axis], data.draw(st.integers(0, 5)), *shape[axis + 1 :])
    indices = indices_of(kind, target, shape[axis], seed)

    def element(index: tuple[int, ...]) -> np.generic:
        return x[(*index[:axis], position(int(indices[index]), shape[axis]), *index[axis + 1 :])]

    assert_same_bits(output("gather_elements", x, indices, axis=axis), by_index(x.dtype, target, element))


@given(dtype=dtypes, kind=index_dtypes, shape=shapes(1, least=1, limit=100), seed=seeds, data=st.data())
def test_scatter_elements(dtype: str, kind: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    x = array(dtype, shape, seed)
    axis = data.draw(st.integers(0, x.ndim - 1))
    target = (*shape[:axis], data.draw(st.integers(0, 5)), *shape[axis + 1 :])
    indices, updates = indices_of(kind, target, shape[axis], seed), array(dtype, target, seed + 1)
    expected = x.copy()
    for index in rows(target):
        expected[(*index[:axis], position(int(indices[index]), shape[axis]), *index[axis + 1 :])] = updates[index]
    assert_same_bits(output("scatter_elements", x, indices, updates, axis=axis), expected)


@st.composite
def coordinates(draw: st.DrawFn) -> tuple[str, tuple[int, ...], np.ndarray]:
    """A data type of indices, the shape that they index, and indices whose last dimension is a coordinate."""
    kind, shape, seed = draw(index_dtypes), draw(shapes(1, 5, least=1, limit=100)), draw(seeds)
    length = draw(st.integers(1, len(shape)))
    room = 8 - (len(shape) - length)
    batch = draw(shapes(0, 2, limit=6).filter(lambda s: len(s) <= min(room, 2)))
    parts = [indices_of(kind, batch, shape[i], seed + i) for i in range(length)]
    return kind, shape, np.stack(parts, -1)


@given(dtype=dtypes, form=coordinates(), seed=seeds)
def test_gather_nd(dtype: str, form: tuple[str, tuple[int, ...], np.ndarray], seed: int) -> None:
    _, shape, indices = form
    x, k = array(dtype, shape, seed), indices.ndim - 1
    length = indices.shape[-1]

    def element(index: tuple[int, ...]) -> np.generic:
        start = tuple(position(int(c), shape[i]) for i, c in enumerate(indices[index[:k]]))
        return x[start + index[k:]]

    target = indices.shape[:-1] + shape[length:]
    assert_same_bits(output("gather_nd", x, indices), by_index(x.dtype, target, element))


@given(dtype=dtypes, form=coordinates(), seed=seeds)
def test_scatter_nd(dtype: str, form: tuple[str, tuple[int, ...], np.ndarray], seed: int) -> None:
    _, shape, indices = form
    x, length = array(dtype, shape, seed), indices.shape[-1]
    updates = array(dtype, indices.shape[:-1] + shape[length:], seed + 1)
    expected = x.copy()
    for index in rows(indices.shape[:-1]):
        expected[tuple(position(int(c), shape[i]) for i, c in enumerate(indices[index]))] = updates[index]
    assert_same_bits(output("scatter_nd", x, indices, updates), expected)


@pytest.mark.parametrize("kind", INDEX_TYPES)
def test_indices_at_the_ends_of_their_data_type(kind: str) -> None:
    x, info = np.arange(5, dtype=np.float32), np.iinfo(kind)
    ends = np.array([info.min, info.max, info.min + 1, info.max - 1], kind)
    first = 0 if info.min < 0 else None
    expected = [first if first is not None else 0, 4, 0 if info.min < 0 else 1, 4]
    assert output("gather", x, ends).tolist() == expected
    assert math.prod(output("gather_elements", x, ends).shape) == 4
    assert output("scatter_nd", x, ends[:, None], np.full(4, 9, np.float32)).shape == (5,)
