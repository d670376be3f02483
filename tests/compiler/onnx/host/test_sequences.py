"""Sequences and optionals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.errors import ValidationError

from .nodes import run, same, strings

A, B, C = np.array([1]), np.array([2, 3]), np.array([[4]])


def test_construct_and_length() -> None:
    same(run("SequenceConstruct", 11, A, B), [A, B])
    same(run("SequenceEmpty", 11, dtype=7), [])
    same(run("SequenceLength", 11, [A, B, C]), np.array(3))
    same(run("SequenceLength", 11, []), np.array(0))
    with pytest.raises(ValidationError, match="float64, int64"):
        run("SequenceConstruct", 11, A, np.array([1.0]))
    with pytest.raises(ValidationError, match="dtype"):
        run("SequenceEmpty", 11, dtype=77)


@pytest.mark.parametrize(
    ("position", "expected"), [(None, [A, B, C]), (0, [C, A, B]), (-1, [A, C, B]), (2, [A, B, C]), (-2, [C, A, B])]
)
def test_insert(position: int | None, expected: list[Any]) -> None:
    given = [A, B]
    same(run("SequenceInsert", 11, given, C, None if position is None else np.array(position)), expected)
    same(given, [A, B])


def test_insert_checks() -> None:
    for position in (3, -3):
        with pytest.raises(ValidationError, match="expected -2 to 2"):
            run("SequenceInsert", 11, [A, B], C, np.array(position))
    with pytest.raises(ValidationError, match="one type"):
        run("SequenceInsert", 11, [A], strings("a"))
    with pytest.raises(ValidationError, match="expected a sequence"):
        run("SequenceInsert", 11, A, A)
    with pytest.raises(ValidationError, match="an integer"):
        run("SequenceInsert", 11, [A], A, np.array(0.0))


def test_erase_and_at() -> None:
    same(run("SequenceErase", 11, [A, B, C]), [A, B])
    same(run("SequenceErase", 11, [A, B, C], np.array(-3, np.int32)), [B, C])
    same(run("SequenceAt", 11, [A, B, C], np.array(1)), B)
    same(run("SequenceAt", 11, [A, B, C], np.array([-1])), C)
    for name, sequence, position in (("At", [A], 1), ("At", [], 0), ("At", [A], -2), ("Erase", [A], 1)):
        with pytest.raises(ValidationError, match="'position' is"):
            run(f"Sequence{name}", 11, sequence, np.array(position))
    with pytest.raises(ValidationError, match="'position' is"):
        run("SequenceErase", 11, [])


def test_split() -> None:
    x = np.arange(10).reshape(5, 2)
    same(run("SplitToSequence", 11, x, np.array(2)), [x[:2], x[2:4], x[4:]])
    same(run("SplitToSequence", 11, x, np.array([1, 0, 4])), [x[:1], x[:0], x[1:]])
    same(run("SplitToSequence", 24, x, axis=-1), [x[:, :1], x[:, 1:]])
    same(run("SplitToSequence", 24, x, axis=1, keepdims=0), [x[:, 0], x[:, 1]])
    same(run("SplitToSequence", 24, x, np.array(1), axis=1, keepdims=0), [x[:, :1], x[:, 1:]])
    same(run("SplitToSequence", 24, x[:0], np.array(2)), [])
    same(run("SplitToSequence", 11, strings("a", "b")), [strings("a"), strings("b")])
    for split in (np.array(0), np.array([2, 2]), np.array([6, -1])):
        with pytest.raises(ValidationError, match="'split' is"):
            run("SplitToSequence", 11, x, split)


def test_concat() -> None:
    same(run("ConcatFromSequence", 11, [A, B], axis=0), np.array([1, 2, 3]))
    same(run("ConcatFromSequence", 11, [B, B], axis=-1, new_axis=1), np.stack([B, B], -1))
    same(run("ConcatFromSequence", 11, [strings("a"), strings("b")], axis=0), strings("a", "b"))
    for sequence, attributes in (
        ([], {"axis": 0}),
        ([A, C], {"axis": 0}),
        ([A, B], {"axis": 0, "new_axis": 1}),
        ([A], {"axis": 1}),
    ):
        with pytest.raises(ValidationError):
            run("ConcatFromSequence", 11, sequence, **attributes)


@pytest.mark.parametrize("version", [15, 18, 28])
def test_optionals(version: int) -> None:
    held = run("Optional", min(version, 15) if version < 28 else 28, A)
    same(run("OptionalHasElement", version, held), np.array(True))
    same(run("OptionalGetElement", version, held), A)
    same(run("OptionalGetElement", version, [A, B]), [A, B])
    empty = run("Optional", 15, type=object())
    same(run("OptionalHasElement", version, empty), np.array(False))
    with pytest.raises(ValidationError, match="without an element"):
        run("OptionalGetElement", version, empty)


def test_has_element_without_an_input() -> None:
    same(run("OptionalHasElement", 18), np.array(False))
