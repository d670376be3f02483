"""Concat, Expand, Tile at all versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

from basalt.errors import ValidationError

from .single import BOTH, check, run

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = A + 10


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_concat() -> None:
    check("Concat", (1,), [A, B], np.concatenate([A, B], 1), compiled=BOTH)
    check("Concat", (1, 4, 11, 13), [A, B, A], np.concatenate([A, B, A], 0), axis=0)
    check("Concat", (11, 13), [A, B], np.concatenate([A, B], 1), axis=-1, symbolic=True, compiled=BOTH)
    check("Concat", (4,), [A], A, axis=-1)
    mask = A > 2
    check("Concat", (13,), [mask, mask], np.concatenate([mask, mask], 0), axis=0, compiled=BOTH)
    empty = np.zeros((0, 3), np.float32)
    check("Concat", (13,), [empty, A, empty], A, axis=0)
    check("Concat", (4,), [A, B], np.concatenate([A, B], 1), axis=-1)
    with pytest.raises(ValidationError, match="size"):
        run("Concat", 13, [A, B[:1]], axis=1)


@pytest.mark.parametrize("shape", [(2, 3), (4, 1, 1), (1,), (3,), (5, 2, 1), ()])
def test_expand_broadcasts_both_ways(shape: tuple[int, ...]) -> None:
    expected = A + np.zeros(shape, np.float32)
    check("Expand", (8, 13), [A, ints(*shape)], expected, compiled=BOTH)
    check("Expand", (13,), [A, ints(*shape)], expected, constant=(1,), symbolic=True)


def test_expand_refuses() -> None:
    with pytest.raises(ValidationError, match="broadcast"):
        run("Expand", 8, [A, ints(4)])
    with pytest.raises(ValidationError, match="negative"):
        run("Expand", 13, [A, ints(-1, 3)])
    check("Expand", (13,), [A[:1], ints(0, 1)], A[:0])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_tile_like_numpy(shape: list[int], data: st.DataObject) -> None:
    x = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(shape), max_size=len(shape)))
    version, symbolic = data.draw(st.sampled_from((6, 13))), data.draw(st.booleans())
    check("Tile", (version,), [x, ints(*counts)], np.tile(x, counts), symbolic=symbolic, constant=(1,))


def test_tile() -> None:
    check("Tile", (1,), [A, np.float32([3]), np.float32([1])], np.tile(A, (1, 3)), compiled=BOTH)
    check("Tile", (6, 13), [A, ints(2, 1)], np.tile(A, (2, 1)), compiled=BOTH)
    for counts in ((1, 2, 3), (-1, 1)):
        with pytest.raises(ValidationError, match="repeats"):
            run("Tile", 13, [A, ints(*counts)])
    with pytest.raises(ValidationError, match="one number"):
        run("Tile", 1, [A, np.float32([3, 2]), np.float32([1])])
