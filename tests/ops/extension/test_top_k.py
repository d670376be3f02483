"""The best elements, against Python's sorting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ValidationError

from ..calling import array, infer, outputs, seeds


@given(dtype=st.sampled_from(("float32", "float16", "int8", "uint64")), largest=st.booleans(), seed=seeds)
def test_order(dtype: str, largest: bool, seed: int) -> None:
    x = array(dtype, (12,), seed)
    values, places = outputs("top_k", x, 5, largest=largest)

    def rank(i: int) -> tuple[float, int]:
        value = x[i].item()
        known = math.inf if isinstance(value, float) and math.isnan(value) else value
        above = isinstance(value, float) and math.isnan(value)
        return (-above if largest else above, -known if largest else known, i)  # type: ignore[return-value]

    expected = sorted(range(12), key=rank)[:5]
    assert places.tolist() == expected
    assert values.tobytes() == x[expected].tobytes()


def test_along_an_axis() -> None:
    x = np.array([[1, 5, 2], [4, 5, 0]])
    values, places = outputs("top_k", x, 1, axis=0)
    assert (values.tolist(), places.tolist()) == ([[4, 5, 2]], [[1, 0, 0]])
    values, places = outputs("top_k", x, 0, axis=1)
    assert values.shape == places.shape == (2, 0)


def test_shapes() -> None:
    assert infer("top_k", "int8[n, 4]", positional=(3,), axis=1) == ["int8[n, 3]", "int64[n, 3]"]
    assert infer("top_k", "int8[n, 4]", positional=(3,)) == ["int8[3, 4]", "int64[3, 4]"]
    with pytest.raises(ValidationError, match="k is 5, expected at most the size of axis 1, 4"):
        infer("top_k", "int8[n, 4]", positional=(5,), axis=1)
