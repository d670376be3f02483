"""Casts between all data types, with numbers that the target does not hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .one_operator import FLOATS, INTS, check, extremes

TARGETS = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", FLOATS + INTS)
def test_casts(source: str, target: str) -> None:
    check("cast", [extremes(source)], target)


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", TARGETS[2:])
def test_the_ends_of_ranges(source: str, target: str) -> None:
    info = np.iinfo(target)
    near = np.array([float(end) + step for end in (info.min, info.max) for step in (-1.5, -0.5, 0, 0.5, 1.5)])
    beyond = np.array([1e30, -1e30, float(info.max) * 2, -float(info.max)])
    check("cast", [np.concatenate([near, beyond]).astype(source)], target, again=False)


@pytest.mark.parametrize(("source", "target"), [("int8", "uint8"), ("int64", "uint64")])
def test_bits_of_integers(source: str, target: str) -> None:
    check("bitcast", [extremes(source)], target)


@pytest.mark.parametrize(("source", "target"), [("float32", "uint32"), ("float64", "int64"), ("int32", "float32")])
def test_bits_of_floats(source: str, target: str) -> None:
    check("bitcast", [extremes(source)], target, opset=26)


@settings(max_examples=25)
@given(
    values=st.lists(st.floats(width=32), min_size=1, max_size=8),
    source=st.sampled_from(["float32", "float64"]),
    target=st.sampled_from(TARGETS[2:]),
)
def test_floats_become_integers(values: list[float], source: str, target: str) -> None:
    check("cast", [np.array(values, source)], target, again=False)
