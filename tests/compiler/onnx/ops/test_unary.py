"""Functions of one operand and activations: all versions and data types against NumPy, and what is special of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from basalt.errors import ValidationError

from .one_node import COMPILED, allowed, close, is_float, run, sample, versions

Function = Callable[[np.ndarray], np.ndarray]


def _selu(x: np.ndarray, alpha: float, gamma: float) -> np.ndarray:
    return gamma * np.where(x > 0, x, alpha * np.expm1(x))


def _celu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.maximum(0, x) + np.minimum(0, alpha * np.expm1(x / alpha))


def _shrink(x: np.ndarray) -> np.ndarray:
    return np.where(x < -1.5, x + 0.5, np.where(x > 1.5, x - 0.5, 0))


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FUNCTIONS: list[tuple[str, dict[str, Any], Function, float, float]] = [
    ("Abs", {}, np.abs, -3, 3),
    ("Neg", {}, np.negative, -3, 3),
    ("Ceil", {}, np.ceil, -3, 3),
    ("Floor", {}, np.floor, -3, 3),
    ("Round", {}, np.rint, -3, 3),
    ("Sign", {}, np.sign, -3, 3),
    ("Sqrt", {}, np.sqrt, 0, 3),
    ("Reciprocal", {}, np.reciprocal, 0.5, 3),
    ("Exp", {}, np.exp, -3, 3),
    ("Log", {}, np.log, 0.1, 3),
    ("Erf", {}, special.erf, -3, 3),
    ("Sin", {}, np.sin, -3, 3),
    ("Cos", {}, np.cos, -3, 3),
    ("Tan", {}, np.tan, -1, 1),
    ("Asin", {}, np.arcsin, -1, 1),
    ("Acos", {}, np.arccos, -1, 1),
    ("Atan", {}, np.arctan, -3, 3),
    ("Sinh", {}, np.sinh, -3, 3),
    ("Cosh", {}, np.cosh, -3, 3),
    ("Tanh", {}, np.tanh, -3, 3),
    ("Asinh", {}, np.arcsinh, -3, 3),
    ("Acosh", {}, np.arccosh, 1.5, 3),
    ("Atanh", {}, np.arctanh, -0.9, 0.9),
    ("Sigmoid", {}, special.expit, -3, 3),
    ("Relu", {}, lambda x: np.maximum(x, 0), -3, 3),
    ("LeakyRelu", {}, lambda x: np.where(x < 0, np.float32(0.01) * x, x), -3, 3),
    ("LeakyRelu", {"alpha": 0.25}, lambda x: np.where(x < 0, 0.25 * x, x), -3, 3),
    ("ThresholdedRelu", {}, lambda x: np.where(x > 1, x, 0), -3, 3),
    ("ThresholdedRelu", {"alpha": -0.5}, lambda x: np.where(x > -0.5, x, 0), -3, 3),
    ("Elu", {}, lambda x: np.where(x > 0, x, np.expm1(x)), -3, 3),
    ("Elu", {"alpha": 2.0}, lambda x: np.where(x > 0, x, 2 * np.expm1(x)), -3, 3),
    ("Celu", {}, lambda x: _celu(x, 1), -3, 3),
    ("Celu", {"alpha": 2.0}, lambda x: _celu(x, 2), -3, 3),
    ("Celu", {"alpha": -0.5}, lambda x: _celu(x, -0.5), -1, 1),
    ("Selu", {"alpha": 2.0, "gamma": 3.0}, lambda x: _selu(x, 2, 3), -3, 3),
    ("HardSigmoid", {}, lambda x: np.clip(np.float32(0.2) * x + 0.5, 0, 1), -3, 3),
    ("HardSigmoid", {"alpha": 0.5, "beta": 0.25}, lambda x: np.clip(0.5 * x + 0.25, 0, 1), -3, 3),
    ("HardSwish", {}, lambda x: x * np.clip(x + 3, 0, 6) / 6, -4, 4),
    ("Mish", {}, lambda x: x * np.tanh(np.log1p(np.exp(x))), -3, 3),
    ("Gelu", {}, lambda x: 0.5 * x * (1 + special.erf(x / math.sqrt(2))), -3, 3),
    ("Gelu", {"approximate": "tanh"}, _gelu_tanh, -3, 3),
    ("Swish", {}, lambda x: x * special.expit(x), -3, 3),
    ("Swish", {"alpha": 1.5}, lambda x: x * special.expit(1.5 * x), -3, 3),
    ("Softplus", {}, lambda x: np.log1p(np.exp(x)), -3, 3),
    ("Softsign", {}, lambda x: x / (1 + np.abs(x)), -3, 3),
    ("Shrink", {"lambd": 1.0}, lambda x: np.where(np.abs(x) > 1, x, 0), -3, 3),
    (
        "Shrink",
        {"lambd": 1.5, "bias": 0.5},
        lambda x: np.where(x < -1.5, x + 0.5, np.where(x > 1.5, x - 0.5, 0)),
        -3,
        3,
    ),
]
CASES = [
    pytest.param(*case, version, id="-".join(map(str, (case[0], *case[1].values(), version))))
    for case in FUNCTIONS
    for version in versions(case[0])
]


def check(
    op: str, attributes: dict[str, Any], function: Function, low: float, high: float, version: int, **how: Any
) -> None:
    for dtype in allowed(op, version):
        if how.get("compiled", True) and dtype not in COMPILED:
            continue
        x = sample(dtype, low=low, high=high)
        wide = x.astype(np.float64)
        expected = function(wide)
        if not is_float(dtype):
            expected = np.trunc(expected)
        close(run(op, version, x, **attributes, **how), expected, dtype, 4)


@pytest.mark.parametrize(("op", "attributes", "function", "low", "high", "version"), CASES)
def test_every_version_and_type(
    op: str, attributes: dict[str, Any], function: Function, low: float, high: float, version: int
) -> None:
    check(op, attributes, function, low, high, version, compiled=False)


@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda c: "-".join(map(str, (c[0], *c[1].values()))))
def test_compiled(case: tuple[str, dict[str, Any], Function, float, float]) -> None:
    check(*case, versions(case[0])[-1])


def test_selu_has_other_defaults_since_version_6() -> None:
    x = sample("float64")
    first = run("Selu", 1, x, compiled=False)
    np.testing.assert_allclose(first, _selu(x, np.float32(1.6732), np.float32(1.0507)), rtol=1e-12)
    for version in (6, 22):
        expected = _selu(x, np.float32(1.67326319217681884765625), np.float32(1.05070102214813232421875))
        np.testing.assert_allclose(run("Selu", version, x, compiled=False), expected, rtol=1e-12)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(dtype: str, compiled: bool) -> None:
    x = SPECIAL.astype(dtype)

    def result(op: str, version: int, **attributes: Any) -> list[float]:
        found = run(op, version, x, compiled=compiled, **attributes)
        assert found.dtype == x.dtype
        return [float(v) for v in found]

    nan = pytest.approx(float("nan"), nan_ok=True)
    inf = math.inf
    assert result("Relu", 14) == [nan, inf, 0, 0, 0]
    assert result("Sign", 13) == [nan, 1, -1, 0, 0]
    assert result("ThresholdedRelu", 22) == [0, inf, 0, 0, 0]
    assert result("Celu", 12 if dtype == "float32" else 28, alpha=2.0) == [nan, inf, -2, 0, 0]
    assert result("Softplus", 22) == [nan, inf, 0, pytest.approx(math.log(2)), pytest.approx(math.log(2))]
    assert result("HardSigmoid", 22) == [nan, 1, 0, 0.5, 0.5]
    assert result("Shrink", 9) == [0, inf, -inf, 0, 0]
    assert result("Tanh", 13) == [nan, 1, -1, 0, 0]


@pytest.mark.parametrize("compiled", [False, True])
def test_halves_are_rounded_to_even(compiled: bool) -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
    assert run("Round", 22, x, compiled=compiled).tolist() == [-2, -2, 0, 0, 2, 2]


def test_the_most_negative_integer_is_its_own_opposite() -> None:
    x = np.array([-128, 127], np.int8)
    assert run("Neg", 13, x).tolist() == [-128, -127]
    assert run("Abs", 13, x).tolist() == [-128, 127]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_scalars_and_empty_tensors(shape: tuple[int, ...]) -> None:
    for op in ("Exp", "Mish", "Celu"):
        x = sample("float32", shape)
        found = run(op, versions(op)[-1], x)
        assert found.shape == shape


def test_one_program_serves_all_sizes() -> None:
    assert run("Mish", 22, sample("float32"), symbolic=True).shape == (3, 5)


SLOPES: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [
    (1, (1,), ()),
    (1, (3,), (3, 1)),
    (6, (2, 3, 4), (2, 3, 4)),
    (6, (3,), (3, 1)),
    (7, (4,), (4,)),
    (7, (3, 1), (3, 1)),
    (9, (), ()),
    (16, (3, 4), (3, 4)),
]


@pytest.mark.parametrize(("version", "shape", "seen"), SLOPES)
@pytest.mark.parametrize("compiled", [False, True])
def test_prelu(version: int, shape: tuple[int, ...], seen: tuple[int, ...], compiled: bool) -> None:
    for dtype in allowed("PRelu", version) if not compiled else ["float32"]:
        x, slope = sample(dtype, (2, 3, 4)), sample(dtype, shape, seed=1)
        wide = x.astype(np.float64)
        expected = np.where(wide < 0, wide * slope.astype(np.float64).reshape(seen), wide)
        close(run("PRelu", version, x, slope, compiled=compiled), expected, dtype)


@pytest.mark.parametrize(("version", "shape"), [(1, (4,)), (6, (3, 4)), (7, (3,)), (16, (5, 2, 3, 4))])
def test_prelu_refuses_other_slopes(version: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match="slope"):
        run("PRelu", version, sample("float32", (2, 3, 4)), sample("float32", shape))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("alpha", [1.0, -0.5])
def test_swiglu(dtype: str, alpha: float) -> None:
    a, b = sample(dtype), sample(dtype, seed=1)
    wide = a.astype(np.float64)
    for compiled in (False, True):
        found = run("SwiGLU", 28, a, b, alpha=alpha, compiled=compiled)
        close(found, wide * special.expit(alpha * wide) * b.astype(np.float64), dtype, 2)


def test_swiglu_does_not_broadcast() -> None:
    with pytest.raises(ValidationError, match="expected equal ones"):
        run("SwiGLU", 28, sample("float32", (3, 5)), sample("float32", (1, 5)))


@pytest.mark.parametrize(
    ("op", "version", "attributes"), [("Gelu", 20, {"approximate": "erf"}), ("Celu", 12, {"alpha": 0.0})]
)
def test_wrong_attributes(op: str, version: int, attributes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(attributes))):
        run(op, version, sample("float32"), **attributes)
