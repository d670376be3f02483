"""Arithmetic of two and more operands: versions, data types, broadcasting of each age, Pow's pairs of types, NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import UnsupportedError, ValidationError

from .one_node import COMPILED, allowed, close, is_float, run, sample, versions

Function = Callable[..., np.ndarray]


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a / b if a.dtype.kind == "f" else np.trunc(a.astype(np.float64) / b)


BINARY: dict[str, Function] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _quotient}


def _wide(x: np.ndarray, dtype: str) -> np.ndarray:
    return x.astype(np.float64) if is_float(dtype) else x


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("version", [1, 6, 7, 13, 14])
def test_every_version_and_type(op: str, version: int) -> None:
    for dtype in allowed(op, version):
        a, b = sample(dtype, low=5, high=9), sample(dtype, low=1, high=4, seed=1)
        expected = BINARY[op](_wide(a, dtype), _wide(b, dtype))
        close(run(op, version, a, b, compiled=version == 14 and dtype in COMPILED), expected, dtype)


OLD_SHAPES: list[tuple[tuple[int, ...], int | None, tuple[int, ...]]] = [
    ((), None, ()),
    ((1, 1), None, ()),
    ((1,), 1, ()),
    ((5,), None, (5,)),
    ((4, 5), None, (4, 5)),
    ((3, 4), 1, (3, 4, 1)),
    ((3, 4), -3, (3, 4, 1)),
    ((2,), 0, (2, 1, 1, 1)),
    ((2, 3, 4, 5), None, (2, 3, 4, 5)),
    ((3, 1), 1, (3, 1, 1)),
]
OLD = [(op, version) for op in ("Add", "Sub", "Mul", "Div") for version in (1, 6)] + [
    (op, 1) for op in ("Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
]


@pytest.mark.parametrize(("op", "version"), OLD)
def test_broadcasting_before_version_7(op: str, version: int) -> None:
    dtype = {"And": "bool", "Or": "bool", "Xor": "bool", "Equal": "int32"}.get(op, "float32")
    functions = {
        **BINARY, "Pow": np.power, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
        "Equal": np.equal, "Greater": np.greater, "Less": np.less,
    }  # fmt: skip
    a = sample(dtype, (2, 3, 4, 5), low=1, high=4)
    for shape, axis, seen in OLD_SHAPES:
        b = sample(dtype, shape, low=1, high=4, seed=1)
        attributes = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
        expected = functions[op](a, b.reshape(seen))
        result = run(op, version, a, b, compiled=False, **attributes)
        close(result, expected, "bool" if expected.dtype == bool else dtype)


def test_broadcasting_before_version_7_compiled() -> None:
    a, b = sample("float32", (2, 3, 4)), sample("float32", (3,))
    close(run("Sub", 6, a, b, broadcast=1, axis=1), a - b[:, None], "float32")
    close(run("Sub", 6, a, b, broadcast=1, axis=1, symbolic=True), a - b[:, None], "float32")


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((4,), {}),
        ((2, 3, 1), {}),
        ((3,), {"broadcast": 1}),
        ((4,), {"broadcast": 1, "axis": 1}),
        ((3, 4), {"broadcast": 1, "axis": 2}),
        ((5, 2, 3, 4), {"broadcast": 1}),
        ((4,), {"broadcast": 1, "axis": 3}),
    ],
)
def test_what_was_not_broadcast_before_version_7(shape: tuple[int, ...], attributes: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="the node"):
        run("Add", 6, sample("float32", (2, 3, 4)), sample("float32", shape), **attributes)


@given(st.sampled_from(["Add", "Mul", "Max", "Mod", "Less"]), mutually_broadcastable_shapes(num_shapes=2, max_dims=4))
def test_broadcasting_since_version_7(op: str, shapes: Any) -> None:
    functions: dict[str, Function] = {
        "Add": np.add, "Mul": np.multiply, "Max": np.maximum, "Mod": np.mod, "Less": np.less,
    }  # fmt: skip
    a, b = (sample("int32", shape, low=1, high=9, seed=i) for i, shape in enumerate(shapes.input_shapes))
    expected = functions[op](a, b)
    result = run(op, 13, a, b, compiled=False)
    assert result.shape == shapes.result_shape
    assert result.tolist() == expected.tolist()


def test_integer_division_truncates() -> None:
    a, b = np.array([7, -7, 7, -7, -128], np.int8), np.array([2, 2, -2, -2, -1], np.int8)
    for compiled in (False, True):
        assert run("Div", 14, a, b, compiled=compiled).tolist() == [3, -3, -3, 3, -128]


def test_integers_wrap_around() -> None:
    a = np.array([250, 3], np.uint8)
    assert run("Add", 14, a, np.array([10, 4], np.uint8)).tolist() == [4, 7]
    assert run("Sub", 14, a, np.array([251, 4], np.uint8)).tolist() == [255, 255]


# Pow

PAIRS = [
    (version, base, exponent)
    for version in versions("Pow")
    for base in allowed("Pow", version)
    for exponent in allowed("Pow", version, 1)
    if version >= 12 or base == exponent
]


def _power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    return np.power(base.astype(np.float64), exponent.astype(np.float64))


@pytest.mark.parametrize(("version", "base", "exponent"), PAIRS)
def test_pow_of_every_pair_of_types(version: int, base: str, exponent: str) -> None:
    x, y = sample(base, low=1, high=4), sample(exponent, low=0, high=3, seed=1)
    expected = _power(x, y)
    for known in ((), (1,)):
        result = run("Pow", version, x, y, known=known, compiled=False)
        close(result, expected if is_float(base) else np.trunc(expected), base, 8)


@pytest.mark.parametrize(
    ("base", "exponent"), [("float32", "int64"), ("int32", "float32"), ("int64", "uint8"), ("float16", "float32")]
)
def test_pow_compiled(base: str, exponent: str) -> None:
    x, y = sample(base, low=1, high=4), sample(exponent, low=0, high=3, seed=1)
    expected = _power(x, y)
    close(run("Pow", 15, x, y), expected if is_float(base) else np.trunc(expected), base, 8)


def test_pow_of_integers_is_exact_modulo_the_types_range() -> None:
    x = np.array([3, -3, 2, 7], np.int64)
    for exponent in (np.array([40, 41, 63, 23], np.int64), np.array([40, 41, 63, 23], np.uint64)):
        expected = [(int(a) ** int(b) + 2**63) % 2**64 - 2**63 for a, b in zip(x, exponent)]
        for compiled in (False, True):
            assert run("Pow", 15, x, exponent, compiled=compiled).tolist() == expected
    result = run("Pow", 15, np.array([3], np.int32), np.array([2**63 + 3], np.uint64))
    assert result.tolist() == [(pow(3, 2**63 + 3, 2**32) + 2**31) % 2**32 - 2**31]


def test_pow_keeps_the_parity_of_large_exponents() -> None:
    x, y = np.array([-1, -1], np.float32), np.array([2**24 + 1, 2**24 + 2], np.int64)
    for known in ((), (1,)):
        assert run("Pow", 13, x, y, known=known, compiled=False).tolist() == [-1, 1]


# Mod


@pytest.mark.parametrize("version", versions("Mod"))
@pytest.mark.parametrize("fmod", [0, 1])
def test_mod(version: int, fmod: int) -> None:
    for dtype in allowed("Mod", version):
        a, b = sample(dtype, (40,), low=-9, high=9), sample(dtype, (40,), low=1, high=4, seed=1)
        if not dtype.startswith("u"):
            b = np.where(np.arange(40) % 2, b, -b).astype(onnx_dtype(dtype))
        function: Function = np.fmod if fmod else np.mod
        expected = function(_wide(a, dtype), _wide(b, dtype))
        found = run("Mod", version, a, b, fmod=fmod, compiled=version == 28 and dtype in COMPILED)
        close(found, expected, dtype)


@pytest.mark.parametrize("compiled", [False, True])
def test_mod_of_special_values(compiled: bool) -> None:
    inf, nan = np.inf, np.nan
    a = np.array([0.0, -0.0, inf, 1, 1, -1, nan, 1], np.float32)
    b = np.array([-2, 2, 2, 0, -inf, inf, 1, inf], np.float32)
    floored = run("Mod", 28, a, b, compiled=compiled)
    np.testing.assert_array_equal(floored, np.array([-0.0, 0.0, nan, nan, -inf, inf, nan, 1], np.float32))
    assert np.signbit(floored[:2]).tolist() == [True, False]
    truncated = run("Mod", 28, a, b, fmod=1, compiled=compiled)
    np.testing.assert_array_equal(truncated, np.array([0, 0, nan, nan, 1, -1, nan, 1], np.float32))


def test_mod_refuses_other_rules() -> None:
    with pytest.raises(ValidationError, match="fmod is 2"):
        run("Mod", 13, sample("int32"), sample("int32"), fmod=2)


# Min, Max, Mean, Sum

VARIADIC: dict[str, Function] = {
    "Min": lambda *x: np.minimum.reduce(x),
    "Max": lambda *x: np.maximum.reduce(x),
    "Sum": lambda *x: np.add.reduce(x),
    "Mean": lambda *x: np.add.reduce(x) / len(x),
}


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("op", "version"), [(op, v) for op in VARIADIC for v in versions(op)])
def test_any_number_of_operands(op: str, version: int, count: int) -> None:
    for dtype in allowed(op, version):
        tensors = [sample(dtype, seed=i) for i in range(count)]
        expected = VARIADIC[op](*[_wide(t, dtype) for t in tensors])
        compiled = version == 13 and count == 3 and dtype in COMPILED
        close(run(op, version, *tensors, compiled=compiled), expected, dtype)


@pytest.mark.parametrize("op", VARIADIC)
def test_operands_are_broadcast_since_version_8(op: str) -> None:
    tensors = [sample("float32", shape, seed=i) for i, shape in enumerate([(3, 1), (4,), (2, 1, 1)])]
    expected = VARIADIC[op](*np.broadcast_arrays(*tensors))
    close(run(op, 8, *tensors, compiled=False), expected, "float32")
    for version in (1, 6):
        with pytest.raises(ValidationError, match="expected equal ones"):
            run(op, version, *tensors)


@pytest.mark.parametrize("op", ["Min", "Max"])
@pytest.mark.parametrize("compiled", [False, True])
def test_nan_is_kept(op: str, compiled: bool) -> None:
    a, b = np.array([np.nan, 1, np.nan], np.float32), np.array([1, np.nan, np.nan], np.float32)
    assert np.isnan(run(op, 13, a, b, compiled=compiled)).all()


@pytest.mark.parametrize("op", VARIADIC)
def test_no_operands(op: str) -> None:
    with pytest.raises(ValidationError, match=r"no inputs|is missing"):
        run(op, 13)


def test_more_dimensions_than_programs_hold() -> None:
    with pytest.raises(UnsupportedError, match="more than 8 dimensions"):
        run("Exp", 13, np.ones((1,) * 9, np.float32))
    assert run("Identity", 13, np.ones((1,) * 9, np.float32)).shape == (1,) * 9
