"""Max pooling with indices, against a walk over each window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import array, infer, outputs


def naive(x: np.ndarray, window: tuple[int, int], sizes: tuple[int, ...], o: dict[str, Any]) -> tuple[list, list]:
    """Values and indices, flat."""
    (top, _, left, _), strides, dilations = o["padding"], o["strides"], o["dilations"]
    _, channels, height, width = x.shape
    values, places = [], []
    for n, c, i, j in np.ndindex(sizes):
        best, at = None, -1
        for p in range(window[0]):
            for q in range(window[1]):
                h, w = i * strides[0] + p * dilations[0] - top, j * strides[1] + q * dilations[1] - left
                if not (0 <= h < height and 0 <= w < width):
                    continue
                value = float(x[n, c, h, w])
                if best is None or value > best or (math.isnan(value) and not math.isnan(best)):
                    inside = w * height + h if o["column_major"] else h * width + w
                    best, at = value, (n * channels + c) * height * width + inside
        values.append(best)
        places.append(at)
    return values, places


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8"])
@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize(
    ("window", "padding", "strides", "dilations", "rounding"),
    [((2, 2), (0, 0, 0, 0), (1, 1), (1, 1), "floor"), ((3, 2), (1, 1, 1, 0), (2, 1), (1, 2), "floor"),
     ((2, 3), (0, 1, 2, 2), (2, 2), (2, 1), "ceil")],
)  # fmt: skip
def test_windows(
    dtype: str, column_major: bool, window: Any, padding: Any, strides: Any, dilations: Any, rounding: str
) -> None:
    x = array(dtype, (2, 3, 6, 7), 5)
    options = {"padding": padding, "strides": strides, "dilations": dilations, "column_major": column_major}
    values, places = outputs("max_pool_indices", x, window, output_shape_rounding=rounding, **options)
    wanted, at = naive(x, window, values.shape, options)
    assert places.reshape(-1).tolist() == at
    np.testing.assert_array_equal(values.reshape(-1).astype(np.float64), np.array(wanted, np.float64))


def test_a_window_of_padding_alone() -> None:
    x = np.ones((1, 1, 1, 1), np.float32)
    values, places = outputs("max_pool_indices", x, (1, 1), padding=(1, 0, 0, 0))
    assert (values.reshape(-1).tolist(), places.reshape(-1).tolist()) == ([-math.inf, 1.0], [-1, 0])


def test_shapes() -> None:
    assert infer("max_pool_indices", "int8[n, 3, 8, w]", positional=((2, 3),), strides=(2, 1)) == [
        "int8[n, 3, 4, w - 2]", "int64[n, 3, 4, w - 2]",
    ]  # fmt: skip
    with pytest.raises(ValidationError, match="exceeds the input's height"):
        infer("max_pool_indices", "int8[1, 3, 2, 8]", positional=((3, 3),))
