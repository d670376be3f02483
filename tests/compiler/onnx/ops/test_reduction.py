"""Reductions at every version: data types, axes as attribute and input, empty sets, integers, bool."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.errors import ValidationError

from .one_node import allowed, close, is_float, run, sample, versions

Function = Callable[..., Any]


def _log_sum_exp(x: np.ndarray, **how: Any) -> Any:
    return np.log(np.sum(np.exp(x), **how))


FUNCTIONS: dict[str, Function] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceL1": lambda x, **how: np.sum(np.abs(x), **how),
    "ReduceL2": lambda x, **how: np.sqrt(np.sum(x * x, **how)),
    "ReduceLogSum": lambda x, **how: np.log(np.sum(x, **how)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda x, **how: np.sum(x * x, **how),
}
PAIRS = [(op, version) for op in FUNCTIONS for version in versions(op)]
AXES: list[tuple[int, ...] | None] = [None, (0,), (1, 2), (-1,), (2, -3), (0, 1, 2)]


def by_input(op: str, version: int) -> bool:
    """Whether a version takes the axes as an input."""
    return version >= (13 if op == "ReduceSum" else 18)


def reduced(
    op: str, version: int, x: np.ndarray, axes: tuple[int, ...] | None, compiled: bool = True, **attributes: Any
) -> Any:
    """The node's output with axes as the version takes them; an initialiser where that is an input."""
    if by_input(op, version):
        given = None if axes is None else np.array(axes, np.int64)
        known = () if given is None else (1,)
        return run(op, version, x, given, known=known, compiled=compiled, **attributes)
    if axes is not None:
        attributes["axes"] = list(axes)
    return run(op, version, x, compiled=compiled, **attributes)


def expected_of(op: str, x: np.ndarray, dtype: str, axes: tuple[int, ...] | None, keep: bool) -> np.ndarray:
    if dtype == "bool":
        return np.asarray(FUNCTIONS[op](x, axis=axes, keepdims=keep))
    found = np.asarray(FUNCTIONS[op](x.astype(np.float64), axis=axes, keepdims=keep))
    return found if is_float(dtype) else np.trunc(found)


@pytest.mark.parametrize(("op", "version"), PAIRS)
def test_every_version_and_type(op: str, version: int) -> None:
    for dtype in allowed(op, version):
        x = sample(dtype, (2, 3, 2), low=1, high=3)
        for i, axes in enumerate(AXES):
            keep = bool(i % 2)
            found = reduced(op, version, x, axes, compiled=False, keepdims=int(keep))
            close(found, expected_of(op, x, dtype, axes, keep), dtype, 4)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_compiled(op: str) -> None:
    version = versions(op)[-1]
    for dtype in [d for d in allowed(op, version) if d in ("float32", "float16", "int32", "bool")]:
        x = sample(dtype, (2, 3, 4), low=-1 if op in ("ReduceL1", "ReduceMax") else 1, high=3)
        for axes in (None, (1,)):
            close(reduced(op, version, x, axes), expected_of(op, x, dtype, axes, True), dtype, 4)


@given(st.sampled_from(["ReduceSum", "ReduceMax", "ReduceL2"]), st.data())
def test_any_shape_and_axes(op: str, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0 if op != "ReduceMax" else 1, 4), max_size=5)))
    places = st.integers(-len(shape), max(len(shape) - 1, 0))
    axes = tuple(data.draw(st.lists(places, unique_by=lambda a: a % len(shape)))) if shape else ()
    keep = data.draw(st.booleans())
    x = sample("float64", shape)
    over = axes or tuple(range(len(shape)))
    found = reduced(op, 18, x, axes, compiled=False, keepdims=int(keep))
    close(found, expected_of(op, x, "float64", over, keep), "float64")


@pytest.mark.parametrize(("op", "version"), PAIRS)
def test_no_axes(op: str, version: int) -> None:
    """All are reduced, or none with noop_with_empty_axes; what is done to each element is done in any case."""
    x = sample("float32", (2, 3), low=1, high=3)
    x[0, 0] *= 1 if op.startswith("ReduceLogSum") else -1
    for axes in (None, ()):
        found = reduced(op, version, x, axes, compiled=False)
        close(found, expected_of(op, x, "float32", (0, 1), True), "float32", 4)
        if by_input(op, version):
            kept = reduced(op, version, x, axes, compiled=axes is None, noop_with_empty_axes=1)
            close(kept, expected_of(op, x, "float32", (), True), "float32", 4)
            # Axes that are given are reduced all the same.
            some = reduced(op, version, x, (1,), compiled=False, noop_with_empty_axes=1)
            close(some, expected_of(op, x, "float32", (1,), True), "float32", 4)


INF = math.inf
EMPTY = {
    "ReduceSum": 0, "ReduceProd": 1, "ReduceMax": -INF, "ReduceMin": INF, "ReduceL1": 0, "ReduceL2": 0,
    "ReduceLogSum": -INF, "ReduceLogSumExp": -INF, "ReduceSumSquare": 0, "ReduceMean": math.nan,
}  # fmt: skip


@pytest.mark.parametrize(("op", "version"), PAIRS)
def test_empty_sets(op: str, version: int) -> None:
    for dtype in ("float32", "float64"):
        found = reduced(op, version, np.zeros((2, 0, 3), dtype), (1,), compiled=version >= 18)
        close(found, np.full((2, 1, 3), EMPTY[op]), dtype)
    assert reduced(op, version, np.zeros((0, 3), np.float32), (1,), compiled=False).shape == (0, 1)


@pytest.mark.parametrize("compiled", [False, True])
def test_empty_sets_of_integers_and_truth_values(compiled: bool) -> None:
    for dtype in ("int32", "uint8", "int8"):
        x = np.zeros((0, 2), dtype)
        assert reduced("ReduceMax", 18, x, (0,), compiled).tolist() == [[np.iinfo(dtype).min] * 2]
        assert reduced("ReduceMin", 18, x, (0,), compiled).tolist() == [[np.iinfo(dtype).max] * 2]
    none = np.zeros((0, 2), np.bool_)
    assert reduced("ReduceMax", 20, none, (0,), compiled).tolist() == [[False, False]]
    assert reduced("ReduceMin", 20, none, (0,), compiled).tolist() == [[True, True]]
    x = np.zeros((0, 2), np.int32)
    assert reduced("ReduceProd", 18, x, (0,), compiled).tolist() == [[1, 1]]
    assert reduced("ReduceL2", 18, x, (0,), compiled).tolist() == [[0, 0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_integers(compiled: bool) -> None:
    x = np.array([[-7, 2], [3, 1]], np.int32)
    assert reduced("ReduceMean", 18, x, (1,), compiled).tolist() == [[-2], [2]]
    assert reduced("ReduceL1", 18, x, (1,), compiled).tolist() == [[9], [4]]
    assert reduced("ReduceL2", 18, x, (1,), compiled).tolist() == [[7], [3]]
    assert reduced("ReduceLogSumExp", 18, x, (1,), compiled).tolist() == [[2], [3]]
    assert reduced("ReduceLogSum", 18, np.array([[20, 5]], np.uint64), (1,), compiled).tolist() == [[3]]


@pytest.mark.parametrize("compiled", [False, True])
def test_the_l2_norm_of_integers_follows_the_function_body_from_version_18_on(compiled: bool) -> None:
    """Squares are summed in the tensor's type, where they wrap around; before that the norm itself is truncated."""
    x = np.array([[50000, 50000], [30000, 10000]], np.int32)
    wrapped = (2 * 50000**2 + 2**31) % 2**32 - 2**31
    for version in (1, 11, 13):
        assert reduced("ReduceL2", version, x, (1,), compiled).tolist() == [[70710], [31622]]
    assert reduced("ReduceL2", 18, x, (1,), compiled).tolist() == [[int(wrapped**0.5)], [31622]]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("version", [1, 18])
def test_log_sum_exp_neither_overflows_nor_loses_infinities(version: int, compiled: bool) -> None:
    x = np.array([[1000, 1000], [-1000, -1000], [INF, 0], [-INF, -INF], [np.nan, 1]], np.float32)
    found = reduced("ReduceLogSumExp", version, x, (1,), compiled, keepdims=0)
    np.testing.assert_allclose(found, [1000 + math.log(2), -1000 + math.log(2), INF, -INF, np.nan], rtol=1e-6)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_scalars(op: str) -> None:
    x = np.array(2, np.float32)
    close(reduced(op, versions(op)[-1], x, None, compiled=False), expected_of(op, x, "float32", (), True), "float32")


@pytest.mark.parametrize("compiled", [False, True])
def test_sums_of_half_floats_are_not_rounded_on_the_way(compiled: bool) -> None:
    x = np.concatenate([[2048], np.ones(64)]).astype(np.float16)
    assert reduced("ReduceSum", 13, x, None, compiled).tolist() == [2112]


def test_axes_known_only_when_it_runs() -> None:
    x, axes = sample("float32", (2, 3, 4)), np.array([0, -1])
    close(run("ReduceSum", 13, x, axes), x.sum((0, 2), keepdims=True), "float32")
    close(run("ReduceMax", 20, x, np.zeros(0, np.int64), noop_with_empty_axes=1), x, "float32")


def test_symbolic_sizes() -> None:
    x = sample("int64", (3, 5), low=0, high=99)
    for axes in ((0,), (0, 1)):
        found = run("ReduceMean", 18, x, np.array(axes), known=(1,), symbolic=True)
        close(found, np.trunc(x.mean(axes, keepdims=True)), "int64")


@pytest.mark.parametrize("axes", [(3,), (-4,), (1, 1), (0, -3)])
@pytest.mark.parametrize("version", [1, 11, 13, 18])
def test_wrong_axes(axes: tuple[int, ...], version: int) -> None:
    with pytest.raises(ValidationError, match="axes"):
        reduced("ReduceL2", version, sample("float32", (2, 3, 4)), axes)


@pytest.mark.parametrize(
    ("op", "version", "dtype"),
    [
        ("ReduceL2", 11, "bfloat16"),
        ("ReduceL2", 18, "int8"),
        ("ReduceMax", 11, "int8"),
        ("ReduceMax", 18, "bool"),
        ("ReduceLogSum", 28, "int32"),
        ("ReduceSum", 13, "int16"),
    ],
)
def test_a_version_takes_its_own_types_only(op: str, version: int, dtype: str) -> None:
    with pytest.raises(ValidationError, match=f"data is {dtype}, expected"):
        reduced(op, version, sample(dtype), None)


def test_axes_are_an_attribute_or_an_input_but_never_both() -> None:
    with pytest.raises(ValueError, match="unknown attribute 'axes'"):
        run("ReduceL2", 18, sample("float32"), axes=[0])
    with pytest.raises(ValueError, match="at most 1"):
        run("ReduceL2", 13, sample("float32"), np.array([0]), known=(1,))
