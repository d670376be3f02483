"""Linear interpolation at evenly spaced coordinates, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, output


@pytest.mark.parametrize("axes", [(2, 3), (1, 2), (3, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int32"])
def test_like_numpy(axes: tuple[int, int], dtype: str) -> None:
    x = (np.random.default_rng(0).random((3, 4, 5, 6)) * 100).astype(dtype)
    offsets, steps, sizes = (-1.5, 0.25), (0.75, 1.3), (9, 4)
    expected = x.astype(np.float64)
    for axis, offset, step, count in zip(axes, offsets, steps, sizes):
        places = offset + np.arange(count) * step
        line = np.arange(x.shape[axis])
        expected = np.apply_along_axis(lambda v: np.interp(places, line, v), axis, expected)  # noqa: B023
    expected = np.rint(expected).astype(dtype) if np.dtype(dtype).kind in "iu" else expected
    got = output("interpolate2d", x, sizes, offsets, steps, axes=axes)
    np.testing.assert_allclose(got, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_neighbours_that_do_not_count() -> None:
    x = np.float32([1, np.inf, np.nan, 2]).reshape(1, 1, 1, 4)
    got = output("interpolate2d", x, (1, 2), (0.0, 0.0), (1.0, 3.0))
    np.testing.assert_array_equal(got.reshape(-1), [1, 2])


def test_what_is_refused() -> None:
    assert infer("interpolate2d", "float32[a, b, c, d]", positional=((2, 7), (0.0, 0.0), (1.0, 1.0))) == [
        "float32[a, b, 2, 7]"
    ]
    with pytest.raises(ValidationError, match="finite"):
        infer("interpolate2d", "float32[1, 1, 2, 2]", positional=((2, 7), (0.0, 0.0), (1.0, np.inf)))
    with pytest.raises(ValidationError, match="empty"):
        infer("interpolate2d", "float32[1, 1, 0, 2]", positional=((2, 7), (0.0, 0.0), (1.0, 1.0)))
