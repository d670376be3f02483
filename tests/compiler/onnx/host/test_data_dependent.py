"""NonZero, Compress, Unique, TopK, Range, EyeLike, OneHot, ConstantOfShape, Det, ReverseSequence."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from basalt.errors import ValidationError

from .nodes import run, same, strings

BF16 = np.dtype(ml_dtypes.bfloat16)


def test_non_zero() -> None:
    same(run("NonZero", 13, np.array([[0, -0.0], [np.nan, 3]])), np.array([[1, 1], [0, 1]]))
    same(run("NonZero", 13, np.array(5)), np.zeros((0, 1), np.int64))
    same(run("NonZero", 13, np.array(0)), np.zeros((0, 0), np.int64))
    same(run("NonZero", 13, strings("", "a")), np.array([[1]]))
    same(run("NonZero", 13, np.array([0, 2], BF16)), np.array([[1]]))
    same(run("NonZero", 9, np.zeros((2, 0, 3))), np.zeros((3, 0), np.int64))


def test_compress() -> None:
    x = np.arange(6).reshape(3, 2)
    same(run("Compress", 9, x, np.array([False, True]), axis=0), np.array([[2, 3]]))
    same(run("Compress", 11, x, np.array([False, True]), axis=-1), np.array([[1], [3], [5]]))
    same(run("Compress", 11, x, np.array([True, False, True])), np.array([0, 2]))
    same(run("Compress", 28, strings("a", "b"), np.array([False, True])), strings("b"))
    with pytest.raises(ValidationError, match="true at 3, expected at most 2"):
        run("Compress", 11, x, np.array([False, False, False, True]), axis=0)


@given(hnp.arrays(np.int8, hnp.array_shapes(max_dims=3, max_side=4), elements=st.integers(0, 3)), st.booleans())
def test_unique_describes_its_input(x: np.ndarray, is_sorted: bool) -> None:
    for axis in (None, *range(x.ndim)):
        attributes = {} if axis is None else {"axis": axis}
        y, first, inverse, counts = run("Unique", 11, x, sorted=int(is_sorted), **attributes)
        flat, place = (x.reshape(-1), 0) if axis is None else (x, axis)
        np.testing.assert_array_equal(np.take(y, inverse, axis=place), flat)
        np.testing.assert_array_equal(np.take(flat, first, axis=place), y)
        np.testing.assert_array_equal(counts, np.bincount(inverse, minlength=len(counts)))
        slices = [tuple(s.reshape(-1).tolist()) for s in np.moveaxis(y, place, 0)]
        assert len(set(slices)) == len(slices)
        assert all(inverse[f] == i and f == np.flatnonzero(inverse == i)[0] for i, f in enumerate(first))
        assert slices == sorted(slices) if is_sorted else list(first) == sorted(first)


def test_unique_of_other_types() -> None:
    y, first, inverse, counts = run("Unique", 11, strings("b", "a", "b"))
    same(y, strings("a", "b"))
    same((first, inverse, counts), (np.array([1, 0]), np.array([1, 0, 1]), np.array([1, 2])))
    y, first, _, counts = run("Unique", 28, np.array([np.nan, -0.0, 0.0, np.nan, -1], BF16))
    np.testing.assert_array_equal(y.astype(np.float32), [-1, -0.0, np.nan])
    assert np.signbit(y.astype(np.float32))[1]
    same((first, counts), (np.array([4, 1, 0]), np.array([1, 2, 2])))
    y, _, inverse, _ = run("Unique", 11, strings("x", "y", "x", "y", shape=(2, 2)), axis=0)
    same((y, inverse), (strings("x", "y", shape=(1, 2)), np.array([0, 0])))
    y = run("Unique", 11, np.zeros((3, 0)), axis=0)[0]
    assert y.shape == (1, 0)
    assert run("Unique", 11, np.zeros(0))[0].shape == (0,)
    assert run("Unique", 11, np.zeros((0, 3)), axis=0)[0].shape == (0, 3)


def test_top_k_breaks_ties_by_index_and_puts_nan_on_top() -> None:
    x = np.array([1, 3, np.nan, 3, -0.0, 0.0], np.float32)
    values, indices = run("TopK", 1, x, k=4)
    same(indices, np.array([2, 1, 3, 0]))
    same(values, np.array([np.nan, 3, 3, 1], np.float32))
    values, indices = run("TopK", 11, x, np.array([4]), largest=0)
    same(indices, np.array([4, 5, 0, 1]))
    same(values, np.array([-0.0, 0.0, 1, 3], np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, np.float16, np.float64, BF16])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_of_every_type(dtype: np.dtype, largest: int) -> None:
    x = np.random.default_rng(3).integers(0, 5, (3, 7, 2)).astype(dtype)
    values, indices = run("TopK", 24, x, np.array([5]), axis=1, largest=largest)
    assert (values.dtype, indices.dtype) == (np.dtype(dtype), np.int64)
    for row in np.ndindex(3, 2):
        column = x[row[0], :, row[1]].astype(np.float64)
        order = sorted(range(7), key=lambda i: (-column[i] if largest else column[i], i))[:5]
        assert indices[row[0], :, row[1]].tolist() == order
        assert values[row[0], :, row[1]].astype(np.float64).tolist() == column[order].tolist()


def test_top_k_of_large_integers_is_exact() -> None:
    x = np.array([2**63 - 1, 2**63 - 2, 0], np.int64)
    same(run("TopK", 24, x, np.array([2])), (x[:2], np.array([0, 1])))
    with pytest.raises(ValidationError, match="k is 4, expected 0 to 3"):
        run("TopK", 24, x, np.array([4]))
    assert run("TopK", 24, x, np.array([0]))[0].shape == (0,)


def number_range(dtype: np.dtype, *numbers: float, version: int = 27, **attributes: int) -> np.ndarray:
    return run("Range", version, *(np.array(v).astype(dtype) for v in numbers), **attributes)


def test_range() -> None:
    same(number_range(np.int16, 10, 4, -2), np.array([10, 8, 6], np.int16))
    same(number_range(np.int64, 3, 9, 3), np.array([3, 6]))
    same(number_range(np.int32, 3, 3, 1), np.zeros(0, np.int32))
    same(number_range(np.float32, 0, 0.6, 0.1), (np.arange(7) * np.float64(np.float32(0.1))).astype(np.float32))
    same(number_range(np.float16, 2046, 2052, 1), np.array([2046, 2047, 2048, 2048, 2050, 2052], np.float16))
    same(number_range(BF16, 0, 2, 0.5, stash_type=11), np.array([0, 0.5, 1, 1.5], BF16))
    low, high = -(2**63), 2**63 - 1
    same(number_range(np.int64, low, high, 2**62), np.array([low, low + 2**62, 0, 2**62]))
    for wrong in ((0, 5, 0), (0, np.inf, 1), (np.nan, 1, 1)):
        with pytest.raises(ValidationError):
            number_range(np.float32, *wrong)
    with pytest.raises(ValidationError, match="elements"):
        number_range(np.int64, low, high, 1)
    with pytest.raises(ValidationError, match="one type"):
        run("Range", 11, np.array(1), np.array(2.0), np.array(1))


def test_eye_like() -> None:
    same(run("EyeLike", 9, np.zeros((2, 3), np.int8), k=1), np.eye(2, 3, 1, np.int8))
    same(run("EyeLike", 22, np.zeros((2, 2)), dtype=9, k=-5), np.zeros((2, 2), np.bool_))
    same(run("EyeLike", 22, np.zeros((2, 2)), dtype=16), np.eye(2).astype(BF16))
    with pytest.raises(ValidationError):
        run("EyeLike", 22, np.zeros(3))


def test_one_hot_leaves_out_what_is_out_of_range() -> None:
    indices, values = np.array([0, -1, 3, -4]), np.array([5, 9])
    same(run("OneHot", 9, indices, np.array(3), values), np.array([[9, 5, 5]] + [[5, 5, 5]] * 3))
    same(run("OneHot", 11, indices, np.array([3]), values), np.array([[9, 5, 5], [5, 5, 9], [5, 5, 5], [5, 5, 5]]))
    words = run("OneHot", 28, np.array([1.9, 1e30], np.float32), np.array(2.0), strings("no", "yes"), axis=0)
    same(words, strings("no", "no", "yes", "no", shape=(2, 2)))
    same(run("OneHot", 11, np.array(1), np.array(2), np.array([False, True])), np.array([False, True]))
    same(run("OneHot", 11, np.array([2**64 - 1], np.uint64), np.array(2), values), np.array([[5, 5]]))


def test_constant_of_shape() -> None:
    same(run("ConstantOfShape", 9, np.array([2, 0])), np.zeros((2, 0), np.float32))
    same(run("ConstantOfShape", 20, np.array([2]), value=np.array([3], np.int8)), np.array([3, 3], np.int8))
    same(run("ConstantOfShape", 9, np.zeros(0, np.int64), value=np.array([True])), np.array(True))
    same(run("ConstantOfShape", 9, np.array([1]), value=strings("a")), strings("a"))
    for sizes in ([-1], [2**40, 2**40]):
        with pytest.raises(ValidationError):
            run("ConstantOfShape", 9, np.array(sizes))


def test_det() -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 3))
    expected = [
        sum(m[0, i] * (m[1, (i + 1) % 3] * m[2, (i + 2) % 3] - m[1, (i + 2) % 3] * m[2, (i + 1) % 3]) for i in range(3))
        for m in x
    ]
    np.testing.assert_allclose(run("Det", 11, x), expected)
    assert run("Det", 22, x[0].astype(np.float16)).dtype == np.float16
    assert run("Det", 22, np.eye(2).astype(BF16)).dtype == BF16
    same(run("Det", 11, np.zeros((4, 0, 0), np.float32)), np.ones(4, np.float32))
    with pytest.raises(ValidationError):
        run("Det", 11, np.zeros((2, 3)))


def test_reverse_sequence() -> None:
    x = np.arange(16).reshape(4, 4).T
    lengths = np.array([4, 0, 2, 1])
    expected = np.stack([np.concatenate([c[:s][::-1], c[s:]]) for c, s in zip(x.T, lengths, strict=True)]).T
    same(run("ReverseSequence", 10, x, lengths), expected)
    same(run("ReverseSequence", 28, x.T, lengths, batch_axis=0, time_axis=1), expected.T)
    same(run("ReverseSequence", 10, strings("a", "b", shape=(2, 1)), np.array([2])), strings("b", "a", shape=(2, 1)))
    for wrong in (np.array([5, 0, 0, 0]), np.array([-1, 0, 0, 0]), np.array([1])):
        with pytest.raises(ValidationError):
            run("ReverseSequence", 10, x, wrong)
