"""Sizes as data."""

from __future__ import annotations

import numpy as np
import pytest

from basalt.errors import ValidationError
from basalt.ops import get, symbol

from ..calling import infer, output


def test_numbers_and_symbols() -> None:
    assert infer("sizes", positional=((symbol("n"), 4, symbol("n") * 2),)) == ["int64[3]"]
    np.testing.assert_array_equal(output("sizes", (3, 0, 2**31)), [3, 0, 2**31])
    assert output("sizes", ()).shape == (0,)


def test_a_size_that_nothing_determines_is_refused() -> None:
    operator = get("sizes")
    types, attrs = operator.check([], {"dims": (symbol("lost"),)})
    with pytest.raises(ValidationError, match="the size of lost does not follow"):
        operator.evaluate(operator.bind([]), attrs, types)


@pytest.mark.parametrize("dims", [(-1,), (0.5,), "n"])
def test_what_is_no_size_is_refused(dims: object) -> None:
    with pytest.raises(ValidationError, match="sizes"):
        get("sizes").attributes([dims], {})
