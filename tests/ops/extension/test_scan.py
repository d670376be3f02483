"""Running products, against a loop over Python's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ..calling import output


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_products(reverse: bool, exclusive: bool) -> None:
    x = np.array([[2, -3, 5, 7], [1, 0, 4, 2]], np.int32)
    expected = []
    for row in x.tolist():
        total, line = 1, []
        for value in row[::-1] if reverse else row:
            line.append(total if exclusive else total * value)
            total *= value
        expected.append(line[::-1] if reverse else line)
    assert output("cumulative_product", x, 1, exclusive=exclusive, reversed=reverse).tolist() == expected
    down = output("cumulative_product", x.T.astype(np.float32), 0, exclusive=exclusive, reversed=reverse)
    assert down.T.tolist() == expected


def test_integers_wrap_around() -> None:
    assert output("cumulative_product", np.array([2**31 - 1, 3], np.int32), 0).tolist() == [2**31 - 1, 2**31 - 3]
