"""Attention in NumPy, against its definition element by element, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import outputs


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _expected(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, scale: float) -> np.ndarray:
    """One batch, row by row, in Python's floats."""
    rows = []
    for i, row in enumerate(q.tolist()):
        scores = [sum(a * b for a, b in zip(row, key)) * scale + mask[i, j] for j, key in enumerate(k.tolist())]
        best = max(scores)
        powers = [math.exp(s - best) for s in scores]
        rows.append([sum(p * v[j, c] for j, p in enumerate(powers)) / sum(powers) for c in range(v.shape[1])])
    return np.array(rows)


@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.parametrize("mask_shape", [None, (4, 6), (6,), (4, 1), (2, 1, 1, 6), ()])
def test_the_definition(scale: float, mask_shape: tuple[int, ...] | None) -> None:
    q, k, v = _numbers(2, 3, 4, 5), _numbers(2, 3, 6, 5, seed=1), _numbers(2, 3, 6, 7, seed=2)
    given = {} if mask_shape is None else {"mask": _numbers(*mask_shape, seed=3)}
    (got,) = outputs("attention", q, k, v, scale=scale, **given)
    full = np.broadcast_to(given.get("mask", np.float32(0)), (2, 3, 4, 6))
    for b in range(2):
        for h in range(3):
            np.testing.assert_allclose(got[b, h], _expected(q[b, h], k[b, h], v[b, h], full[b, h], scale), rtol=2e-5)


@pytest.mark.parametrize("fill", [-math.inf, -2.0])
@pytest.mark.parametrize("shape", [(4, 6), (6,), (4, 1)])
def test_scores_that_are_replaced(shape: tuple[int, ...], fill: float) -> None:
    q, k, v, mask = _numbers(4, 5), _numbers(6, 5, seed=1), _numbers(6, 7, seed=2), _numbers(4, 6, seed=3)
    keep = (_numbers(*shape, seed=4) > -0.5).astype(np.uint8)
    (got,) = outputs("attention", q, k, v, mask=mask, keep=keep, scale=0.5, fill=fill)
    scores = np.where(np.broadcast_to(keep, (4, 6)), q @ k.T * 0.5 + mask, fill)
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(got, powers / powers.sum(1, keepdims=True) @ v, rtol=2e-5)


@pytest.mark.parametrize(("keys", "values"), [((2, 1), (2, 1)), ((1, 3), (2, 3)), ((2, 3), (1, 1))])
def test_keys_and_values_that_serve_several_queries(keys: tuple[int, ...], values: tuple[int, ...]) -> None:
    q, k, v = _numbers(2, 3, 4, 5), _numbers(*keys, 6, 5, seed=1), _numbers(*values, 6, 7, seed=2)
    (got,) = outputs("attention", q, k, v)
    wide = [np.ascontiguousarray(np.broadcast_to(x, (2, 3, *x.shape[2:]))) for x in (k, v)]
    np.testing.assert_allclose(got, outputs("attention", q, *wide)[0], rtol=1e-6)


def test_rows_that_see_no_key() -> None:
    mask = np.float32([[-np.inf, -np.inf, -np.inf], [0, -np.inf, -np.inf]])
    (got,) = outputs("attention", _numbers(2, 4), _numbers(3, 4), values := _numbers(3, 2), mask=mask)
    assert np.isnan(got[0]).all()
    np.testing.assert_allclose(got[1], values[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(4, 5), (6, 4), (6, 7)], r"key has shape \[6, 4\], expected \[6, 5\]"),
        ([(4, 5), (6, 5), (5, 7)], r"key has shape \[6, 5\], expected \[5, 5\]"),
        ([(2, 4, 5), (2, 6, 5), (3, 6, 7)], r"value has shape \[3, 6, 7\], expected \[2, 6, 7\]"),
        ([(4, 5), (6, 5), (6, 7), (5, 6)], r"mask has shape \[5, 6\], expected one that broadcasts to \[4, 6\]"),
    ],
)
def test_refusals(shapes: list[tuple[int, ...]], message: str) -> None:
    arrays: list[Any] = [_numbers(*shape) for shape in shapes]
    with pytest.raises(ValidationError, match=message):
        outputs("attention", *arrays[:3], **({"mask": arrays[3]} if len(arrays) > 3 else {}))
