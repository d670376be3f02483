"""Scattering with a reduction, against a loop over the coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output

COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64"])
def test_every_update_takes_part(reduction: str, dtype: str) -> None:
    kind = np.dtype(dtype)
    x = np.arange(12).reshape(4, 3).astype(kind)
    indices = np.array([[1, 0], [1, 0], [-1, 2], [9, -9]], np.int64)
    updates = np.array([100, 100, 7, 3]).astype(kind)
    expected = x.copy()
    for place, update in zip([(1, 0), (1, 0), (3, 2), (3, 0)], updates):
        with np.errstate(over="ignore"):
            expected[place] = COMBINE[reduction](expected[place], update)
    got = output("scatter_nd_reduce", x, indices, updates, reduction)
    np.testing.assert_array_equal(got, expected)


def test_slices_and_nothing() -> None:
    x, updates = np.ones((3, 2), np.float32), np.float32([[1, 2], [3, np.nan]])
    indices = np.array([[2], [2]], np.int32)
    got = output("scatter_nd_reduce", x, indices, updates, "max")
    np.testing.assert_array_equal(got, np.float32([[1, 1], [1, 1], [3, np.nan]]))
    np.testing.assert_array_equal(output("scatter_nd_reduce", x, indices[:0], updates[:0], "add"), x)


@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize("axis", [0, 1])
def test_elements_along_an_axis(reduction: str, axis: int) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    indices, updates = np.array([[0, 2], [-1, 2]], np.int32), np.float32([[5, -6], [7, 0.5]])
    expected = x.copy()
    for at in np.ndindex(2, 2):
        place = (indices[at], at[1]) if axis == 0 else (at[0], indices[at])
        expected[place] = COMBINE[reduction](expected[place], updates[at])
    np.testing.assert_array_equal(
        output("scatter_elements_reduce", x, indices, updates, reduction, axis=axis), expected
    )


def test_refused_elements() -> None:
    for types, message in (
        (("float32[4, 3]", "int64[2, 2]", "float32[2, 1]"), "updates has shape"),
        (("float32[4, 3]", "int64[2, 4]", "float32[2, 4]"), "at most the input's"),
        (("float32[0, 3]", "int64[2, 3]", "float32[2, 3]"), "empty"),
    ):
        with pytest.raises(ValidationError, match=message):
            infer("scatter_elements_reduce", *types, positional=("add",))


def test_what_is_refused() -> None:
    types = ("float32[4, 3]", "int64[n, 1]", "float32[n, 3]")
    assert infer("scatter_nd_reduce", *types, positional=("add",)) == ["float32[4, 3]"]
    with pytest.raises(ValidationError, match="updates has shape"):
        infer("scatter_nd_reduce", "float32[4, 3]", "int64[2, 1]", "float32[2, 2]", positional=("add",))
    with pytest.raises(ValidationError, match="reduction"):
        infer("scatter_nd_reduce", *types, positional=("mean",))
    with pytest.raises(ValidationError, match="length 3"):
        infer("scatter_nd_reduce", "float32[4, 3]", "int64[2, 3]", "float32[2]", positional=("add",))
