"""Views against NumPy's own: every method, chains of them, and collapsing iteration spaces."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.views import Buffer, Storage, View, collapse, row_major, whole

seeds = st.integers(0, 2**32 - 1)


def start(random: Random) -> tuple[View, np.ndarray]:
    """A view of a whole buffer, and an array whose elements say where they lie in it."""
    shape = tuple(random.choice((1, 1, 2, 3, 4, 6)) for _ in range(random.randint(0, 5)))
    count = prod(shape)
    return whole(Buffer(Storage.ARENA, 4 * count), "float32", shape), np.arange(count).reshape(shape)


def places(view: View) -> np.ndarray:
    """The index in its buffer of each element of a view."""
    found = np.full(view.shape, view.offset)
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides)):
        found = found + (np.arange(size) * stride).reshape([-1 if i == axis else 1 for i in range(len(view.shape))])
    return found


def step(random: Random, view: View, array: np.ndarray) -> tuple[View, np.ndarray]:
    """One view of a view, as the class makes it and as NumPy does."""
    rank = array.ndim
    kind = random.choice(("permuted", "sliced", "reversed", "expanded"))
    if kind == "permuted":
        order = random.sample(range(rank), rank)
        return view.permuted(order), array.transpose(order)
    if kind == "sliced":
        starts = [random.randrange(d) for d in array.shape]
        steps = [random.choice((1, 1, 2, 3)) for _ in array.shape]
        part = array[tuple(slice(b, None, s) for b, s in zip(starts, steps))]
        return view.sliced(starts, part.shape, steps), part
    if kind == "reversed":
        axes = [a for a in range(rank) if random.random() < 0.5]
        return view.reversed(axes), np.flip(array, axes)
    shape = [random.choice((1, 2, 3)) if d == 1 else d for d in array.shape]
    shape = [random.choice((1, 2))] * random.choice((0, 0, 1)) + shape
    return view.expanded(shape), np.broadcast_to(array, shape)


@settings(max_examples=300)
@given(seed=seeds)
def test_chains_name_the_same_elements_as_in_numpy(seed: int) -> None:
    random = Random(seed)
    view, array = start(random)
    for _ in range(random.randint(1, 6)):
        view, array = step(random, view, array)
        assert view.shape == array.shape
        np.testing.assert_array_equal(places(view), array)


@settings(max_examples=300)
@given(seed=seeds)
def test_reshaping_names_the_same_elements_or_says_that_it_cannot(seed: int) -> None:
    random = Random(seed)
    view, array = start(random)
    for _ in range(random.randint(0, 4)):
        view, array = step(random, view, array)
    shape = other_shape(random, array.size)
    seen = view.reshaped(shape)
    if seen is not None:
        assert seen.shape == shape
        np.testing.assert_array_equal(places(seen), array.reshape(shape))
    else:
        strided = np.lib.stride_tricks.as_strided(
            np.zeros(1, np.int8), view.shape, [abs(s) for s in view.strides], writeable=False
        )
        if all(s >= 0 for s in view.strides):
            with pytest.raises(ValueError):
                strided.reshape(shape, copy=False)


def other_shape(random: Random, count: int) -> tuple[int, ...]:
    shape = []
    for factor in (2, 2, 3, 2, 3):
        if count % factor == 0 and random.random() < 0.6:
            shape.append(factor)
            count //= factor
    shape.append(count)
    shape += [1] * random.choice((0, 0, 1))
    random.shuffle(shape)
    return tuple(shape)


@settings(max_examples=200)
@given(seed=seeds)
def test_properties_agree_with_the_elements(seed: int) -> None:
    random = Random(seed)
    view, array = start(random)
    for _ in range(random.randint(0, 3)):
        view, array = step(random, view, array)
    order = places(view).reshape(-1)
    assert view.is_contiguous == bool((order == view.offset + np.arange(array.size)).all())
    assert view.covers_buffer == (view.is_contiguous and order[0] == 0 and view.size * 4 == view.buffer.nbytes)
    assert view.same_elements(view)
    assert not view.same_elements(whole(Buffer(Storage.ARENA, 4 * view.size), "float32", view.shape))


@pytest.mark.parametrize("shape", [(2, 3), (1,), (3, 3)])
def test_stretching_to_a_shape_that_does_not_fit_is_refused(shape: tuple[int, ...]) -> None:
    view = whole(Buffer(Storage.ARENA, 8), "float32", (2, 1))
    if shape == (2, 3):
        assert view.expanded(shape).strides == (1, 0)
    else:
        with pytest.raises(ValueError, match="cannot be stretched"):
            view.expanded(shape)


def test_strides_of_dimensions_of_size_one_do_not_matter() -> None:
    buffer = Buffer(Storage.ARENA, 24)
    odd = View(buffer, "float32", (2, 1, 3), (3, 77, 1))
    assert odd.is_contiguous and odd.covers_buffer
    assert odd.same_elements(whole(buffer, "float32", (2, 1, 3)))
    assert odd.reshaped((6,)) == View(buffer, "float32", (6,), (1,))


def test_row_major_strides() -> None:
    assert row_major(()) == ()
    assert row_major((2, 3, 4)) == (12, 4, 1)
    assert row_major((2, 0, 4)) == (0, 4, 1)


@settings(max_examples=300)
@given(seed=seeds)
def test_collapsing_keeps_which_elements_meet(seed: int) -> None:
    """Walking the smaller space meets the same elements of all operands together, in the same order."""
    random = Random(seed)
    shape = tuple(random.choice((1, 2, 3, 4)) for _ in range(random.randint(0, 5)))
    strides = []
    for _ in range(random.randint(1, 4)):
        order = random.sample(range(len(shape)), len(shape)) if random.random() < 0.4 else range(len(shape))
        own = row_major([shape[i] for i in order])
        placed = {axis: own[k] for k, axis in enumerate(order)}
        strides.append(tuple(0 if random.random() < 0.2 else placed[a] for a in range(len(shape))))
    dims, collapsed = collapse(shape, strides)
    assert dims and prod(dims) == prod(shape)
    assert all(d > 1 for d in dims) or dims == (1,)
    assert walk(shape, strides) == walk(dims, collapsed)


def walk(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [
        tuple(sum(i * k for i, k in zip(index, own)) for own in strides)
        for index in product(*(range(d) for d in shape))
    ]


def test_collapsing_contiguous_operands_leaves_one_dimension() -> None:
    shape = (2, 3, 4)
    assert collapse(shape, [row_major(shape)] * 2) == ((24,), [(1,), (1,)])
    assert collapse((), [()]) == ((1,), [(0,)])
    assert collapse((2, 3), [(3, 1), (0, 1)]) == ((2, 3), [(3, 1), (0, 1)])
