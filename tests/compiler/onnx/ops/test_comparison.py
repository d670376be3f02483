"""Comparisons, truth values, bits, selection, tests for NaN and infinities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import ValidationError

from .one_node import COMPILED, allowed, close, run, sample, versions

Function = Callable[..., Any]
COMPARISONS: dict[str, Function] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}
LOGICAL: dict[str, Function] = {
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}


@pytest.mark.parametrize(("op", "version"), [(op, v) for op in COMPARISONS for v in versions(op)])
def test_comparisons(op: str, version: int) -> None:
    for dtype in allowed(op, version):
        a, b = sample(dtype, (4, 6)), sample(dtype, (4, 6), seed=1)
        b[:2] = a[:2]
        close(
            run(op, version, a, b, compiled=version == versions(op)[-1] and dtype in COMPILED),
            COMPARISONS[op](a, b),
            "bool",
        )


@pytest.mark.parametrize("compiled", [False, True])
def test_nan_equals_nothing(compiled: bool) -> None:
    x = np.array([np.nan, 1], np.float32)
    found = [run(op, 16, x, x, compiled=compiled).tolist() for op in COMPARISONS]
    assert found == [[False, True], [False, False], [False, True], [False, False], [False, True]]


def test_equal_strings_are_compared_by_the_host() -> None:
    a, b = np.array(["a", "b"], object), np.array(["a", "c"], object)
    assert run("Equal", 19, a, b).tolist() == [True, False]


@pytest.mark.parametrize(("op", "version"), [(op, v) for op in LOGICAL for v in versions(op)])
def test_logical_operators(op: str, version: int) -> None:
    for dtype in allowed(op, version):
        a, b = sample(dtype, (5, 8)), sample(dtype, (5, 8), seed=1)
        close(run(op, version, a, b, compiled=version > 1 and dtype in COMPILED), LOGICAL[op](a, b), dtype)


@pytest.mark.parametrize("compiled", [False, True])
def test_not(compiled: bool) -> None:
    x = sample("bool", (7,))
    assert run("Not", 1, x, compiled=compiled).tolist() == (~x).tolist()
    for dtype in allowed("BitwiseNot", 18):
        bits = sample(dtype, (7,))
        close(run("BitwiseNot", 18, bits, compiled=compiled and dtype in COMPILED), ~bits, dtype)


@pytest.mark.parametrize("version", versions("BitShift"))
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("compiled", [False, True])
def test_shifts(version: int, direction: str, compiled: bool) -> None:
    for dtype in allowed("BitShift", version):
        width = 8 * onnx_dtype(dtype).itemsize
        values = [1, 5, 100, *([-1, -100] if dtype.startswith("i") else [])]
        amounts = [0, 1, 3, width - 1, width, *([-1] if dtype.startswith("i") else [])]
        x, y = (np.array(g).reshape(-1).astype(dtype) for g in np.meshgrid(values, amounts))
        expected = [_shifted(int(a), int(b), width, direction, dtype) for a, b in zip(x, y)]
        found = run("BitShift", version, x, y, direction=direction, compiled=compiled and dtype in COMPILED)
        close(found, expected, dtype)


def _shifted(x: int, amount: int, width: int, direction: str, dtype: str) -> int:
    if not 0 <= amount < width:
        return -1 if direction == "RIGHT" and x < 0 else 0
    found = x << amount if direction == "LEFT" else x >> amount
    found %= 2**width
    return found - 2**width if dtype.startswith("i") and found >= 2 ** (width - 1) else found


def test_shift_refuses_other_directions() -> None:
    with pytest.raises(ValidationError, match="direction is 'UP'"):
        run("BitShift", 11, sample("uint8"), sample("uint8"), direction="UP")


@pytest.mark.parametrize("version", versions("Where"))
def test_where(version: int) -> None:
    condition = sample("bool", (3, 1))
    for dtype in allowed("Where", version, 1):
        x, y = sample(dtype, (1, 4)), sample(dtype, (2, 1, 1), seed=1)
        found = run("Where", version, condition, x, y, compiled=version == 16 and dtype in COMPILED)
        close(found, np.where(condition, x, y), dtype)


FLOAT8 = [t for t in allowed("IsNaN", 20) if t.startswith("float8")]


@pytest.mark.parametrize(("op", "version"), [(op, v) for op in ("IsNaN", "IsInf") for v in versions(op)])
@pytest.mark.parametrize("compiled", [False, True])
def test_nan_and_infinities_are_found(op: str, version: int, compiled: bool) -> None:
    function: Function = np.isnan if op == "IsNaN" else np.isinf
    for dtype in allowed(op, version):
        if dtype in FLOAT8:
            x = np.arange(256, dtype=np.uint8).view(onnx_dtype(dtype))
        else:
            x = np.array([np.nan, np.inf, -np.inf, 0, 1, -2]).astype(onnx_dtype(dtype))
        close(run(op, version, x, compiled=compiled), function(x.astype(np.float32)), "bool")


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("version", [10, 20])
def test_infinities_of_one_sign(version: int, positive: int, negative: int) -> None:
    for dtype in ("float32", "float64", *(["float16", "bfloat16", "float8_e5m2"] if version == 20 else [])):
        x = np.array([np.nan, np.inf, -np.inf, 1]).astype(onnx_dtype(dtype))
        found = run("IsInf", version, x, detect_positive=positive, detect_negative=negative)
        assert found.tolist() == [False, bool(positive), bool(negative), False]
