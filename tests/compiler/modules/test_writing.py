"""Writing into tensors: masks, slices, diagonals, reductions at places."""

from __future__ import annotations

from typing import Any

import pytest

from .compare import check, numbers, torch

ROWS = torch.tensor([True, False, True, False])


def test_masked_places() -> None:
    def function(x: Any, source: Any, rows: Any, values: Any) -> Any:
        written = x.clone()
        written[rows] = values
        alike = x.index_put((rows,), values[:1], accumulate=True)
        return x.masked_scatter(x > 0, source), written, alike, x.index_put((x > 0,), x.new_tensor(3.0))

    check(function, numbers(4, 5), numbers(30, seed=1), ROWS, numbers(2, 5, seed=2))


def test_slices_with_steps_and_diagonals() -> None:
    def function(x: Any, source: Any) -> Any:
        written = x.clone()
        written[1::2] = source
        written[:, ::3] = 7
        return written, torch.diagonal_scatter(x, source[0, :4]), torch.diagonal_scatter(x, source[0, :3], -1)

    check(function, numbers(4, 5), numbers(2, 5, seed=1))


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_at_places(reduce: str) -> None:
    index = torch.tensor([[0, 1, 1, 3, 0], [2, 1, 0, 0, 0]])

    def function(x: Any, index: Any, source: Any) -> Any:
        return [x.scatter_reduce(0, index, source, reduce, include_self=own) for own in (True, False)]

    check(function, numbers(4, 5), index, numbers(2, 5, seed=1))


def test_strides_and_copies() -> None:
    def function(x: Any, y: Any) -> Any:
        return x.as_strided((3, 2), (2, 1), 1), x.clone().copy_(y.double()), x.roll(7), x.roll((1, -2), (0, 1))

    check(function, numbers(4, 5), numbers(5, seed=1))
