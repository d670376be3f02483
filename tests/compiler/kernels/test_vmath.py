"""Elementary functions: errors over every exponent, special values, and code that vectorises without library calls.

`SINGLE` and `DOUBLE` hold the largest error that each function may have, in units in the last place: what was found
over all 2**32 float32 arguments, or 10**6 float64 ones, rounded up.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from basalt.compiler.kernels.target import native_target

from .loops import SUFFIXES, Kernel, Loop, binary, unary
from .ulps import EXTENDED, REFERENCES, around, doubles, errors, singles

Array = npt.NDArray[Any]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SINGLE = {
    "exp": 0.9, "expm1": 1.5, "log": 1.0, "log1p": 1.6, "sigmoid": 1.9, "tanh": 2.0, "softplus": 2.0,
    "erf": 1.3, "erfc": 1.8, "gelu": 1.7, "sin": 1.7, "cos": 1.7, "tan": 0.6, "pow": 1.0,
    "sinh": 0.6, "cosh": 0.6, "asin": 0.6, "acos": 0.6, "atan": 0.6, "asinh": 0.6, "acosh": 0.6, "atanh": 0.6,
}  # fmt: skip
DOUBLE = {
    "exp": 1.0, "expm1": 2.0, "log": 1.0, "log1p": 1.5, "sigmoid": 2.0, "tanh": 1.9, "softplus": 2.0,
    "erf": 1.4, "erfc": 3.5, "gelu": 3.8, "sin": 1.0, "cos": 1.0, "tan": 2.4, "pow": 1.3,
    "sinh": 2.6, "cosh": 2.0, "asin": 2.4, "acos": 1.5, "atan": 2.4, "asinh": 2.2, "acosh": 2.8, "atanh": 2.2,
}  # fmt: skip
# Without fused multiply-add, polynomials round twice as often.
FUSED = native_target().features.fma
SINGLE, DOUBLE = ({name: bound + 0.75 * (not FUSED) for name, bound in bounds.items()} for bounds in (SINGLE, DOUBLE))
SLOW_REFERENCE = ("erf", "erfc", "gelu")
EDGES = {
    "exp": (87.33655, 88.72284, 103.97208, 0.34657359),
    "expm1": (88.72284, 17.32868, 0.34657359, 1e-9, 2e-8),
    "log": (1.0, 2 / 3, 4 / 3, 1.1754944e-38),
    "log1p": (1 / 3, 1.0, 0.99999994, 1e-38),
    "sigmoid": (1.0, 87.33655, 88.72284, 103.97208, 16.63553),
    "softplus": (1.0986123, 1.0949312, 16.63553, 87.33655, 103.97208),
    "tanh": (0.17328680, 0.20447032, 9.0109, 10.0),
    "erf": (0.9, 3.9192059, 4.0),
    "erfc": (9.194, 10.0542, 10.2),
    "gelu": (13.1, 14.2, 14.6, 5.5),
    **dict.fromkeys(("sin", "cos", "tan"), (0.7853982, 1.5707964, 3.1415927, 2.0**50, 2.0**76, 2.0**102, 4.9767018e30)),
    **dict.fromkeys(("asin", "acos", "atanh"), (0.5, 1.0)),
    "atan": (0.41421357, 2.4142137),
    **dict.fromkeys(("sinh", "cosh"), (89.41599, 0.34657359)),
    "asinh": (1.0, 2.0**60),
    "acosh": (1.0, 2.0**60),
}


def _float64_reference(name: str) -> Callable[[Array], Array]:
    slow: dict[str, Callable[[Array], Array]] = {
        "erf": special.erf,
        "erfc": special.erfc,
        "gelu": lambda x: np.where(x == -np.inf, -0.0, 0.5 * x * special.erfc(-x * np.sqrt(0.5))),
    }
    return slow.get(name) or REFERENCES[name]


@pytest.mark.parametrize("name", REFERENCES)
def test_float32_error(name: str) -> None:
    x = np.concatenate([singles(), around(*EDGES[name]), np.linspace(-20, 20, 100_001, dtype=np.float32)])
    found = errors(unary(f"{name}_f32", "float32")(x), _float64_reference(name)(x.astype(np.float64)))
    worst = found.argmax()
    assert found[worst] <= SINGLE[name], f"{name}({x[worst]!r}) is {found[worst]} ULP off"


@pytest.mark.skipif(not EXTENDED, reason="NumPy's longdouble is no wider than float64 here")
@pytest.mark.parametrize("name", REFERENCES)
def test_float64_error(name: str) -> None:
    x = np.concatenate([doubles(3 if name in SLOW_REFERENCE else 30), around(*EDGES[name], dtype=np.float64, count=20)])
    if name in SLOW_REFERENCE:
        x = x[::4]
    found = errors(unary(f"{name}_f64", "float64")(x), REFERENCES[name](x))
    worst = found.argmax()
    assert found[worst] <= DOUBLE[name], f"{name}({x[worst]!r}) is {found[worst]} ULP off"


@pytest.mark.skipif(not EXTENDED, reason="NumPy's longdouble is no wider than float64 here")
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_float64_reduction_near_multiples_of_a_quarter_turn(name: str) -> None:
    hardest = 6381956970095103 * 2.0**797  # Muller's worst case, 2**-61 away from a multiple of pi / 2
    x = np.concatenate([np.arange(1, 3000) * (np.pi / 2), np.arange(1, 3000) * (np.pi * 1e5), [hardest, 1e22, 1e308]])
    assert errors(unary(f"{name}_f64", "float64")(x), REFERENCES[name](x)).max() <= DOUBLE[name]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_falling_powers_are_those_of_exp(dtype: str) -> None:
    every = singles() if dtype == "float32" else doubles()
    x = np.concatenate([every[~(every > 0)], np.linspace(-760, 0, 10_001, dtype=dtype)])
    fall, exp = (unary(f"{name}_{SUFFIXES[dtype]}", dtype)(x) for name in ("fall", "exp"))
    np.testing.assert_array_equal(fall, exp)


def _powers(dtype: str) -> tuple[Array, Array]:
    generator = np.random.default_rng(5)
    count = 30_000
    bits = generator.integers(0, 256, (count, np.dtype(dtype).itemsize), dtype=np.uint8)
    any_base = np.abs(bits.view(dtype).ravel())
    span = np.finfo(dtype).maxexp * 1.1
    exponents = generator.uniform(-span, span, count) / np.log2(any_base.astype(np.float64))
    near_one = 1 + generator.uniform(-1e-4, 1e-4, count)
    bases = np.concatenate([any_base, near_one, generator.uniform(-10, 10, count), generator.uniform(0, 10, count)])
    powers = [exponents, generator.uniform(-1e6, 1e6, count), generator.integers(-20, 20, count)]
    return bases.astype(dtype), np.concatenate([*powers, generator.uniform(-20, 20, count)]).astype(dtype)


@pytest.mark.skipif(not EXTENDED, reason="NumPy's longdouble is no wider than float64 here")
@pytest.mark.parametrize("dtype,bounds", [("float32", SINGLE), ("float64", DOUBLE)])
def test_pow_error(dtype: str, bounds: dict[str, float]) -> None:
    x, y = _powers(dtype)
    reference = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert errors(binary(f"pow_{SUFFIXES[dtype]}", dtype)(x, y), reference).max() <= bounds["pow"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pow_special_cases(dtype: str) -> None:
    """C99's, by NumPy: zeros, infinities, NaN, odd and even and fractional powers of negative numbers."""
    form = np.finfo(dtype)
    whole = 2.0 ** (form.nmant + 1)
    sizes = [0, 1, 2, 3, 0.5, 1.5, 1e-3, np.inf, np.nan, whole - 1, whole, whole + 2, form.max, form.tiny, 1e30, 7]
    sizes += [float(form.smallest_subnormal), 1 - form.epsneg, 1 + form.eps]
    values = np.array([sign * size for size in sizes for sign in (1, -1)], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    found = errors(binary(f"pow_{SUFFIXES[dtype]}", dtype)(x, y), np.power(x.astype(np.float64), y.astype(np.float64)))
    wrong = np.flatnonzero(found > 2)
    assert not wrong.size, f"pow({x[wrong[0]]}, {y[wrong[0]]}) is wrong"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REFERENCES)
def test_special_values(name: str, dtype: str) -> None:
    """Infinities, NaN of either sign and any payload, signed zeros and the smallest subnormals."""
    form = np.finfo(dtype)
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0, form.smallest_subnormal, -form.smallest_subnormal]
    raw = np.dtype(f"u{form.dtype.itemsize}")
    payload = (np.array([np.inf, -np.inf], dtype).view(raw) + raw.type(0x35)).view(dtype)
    x = np.concatenate([np.array(values, dtype), payload])
    y = unary(f"{name}_{SUFFIXES[dtype]}", dtype)(x)
    assert errors(y, REFERENCES[name](x.astype(np.float64))).max() <= DOUBLE[name]


TWO_FORMS = [(name, "float32") for name in SINGLE] + [(name, "float64") for name in DOUBLE]


def _loop(name: str, dtype: str) -> Loop:
    function = f"{name}_{SUFFIXES[dtype]}"
    return binary(function, dtype) if name == "pow" else unary(function, dtype)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
@pytest.mark.parametrize("name,dtype", TWO_FORMS)
def test_loops_vectorise_and_call_nothing(name: str, dtype: str) -> None:
    assembly = _loop(name, dtype).kernel.assembly
    # Some float32 functions compute in float64.
    assert re.search(r"\tv?(?:mul|add)p[sd]\t|\tvfn?m(?:add|sub)\w*p[sd]\t", assembly)
    assert not re.search(r"\tcall|\tjmp\w*\s+\*", assembly)


SOFTMAX_ROW = """
def k(table, start, stop):
    x = ptr(table, 0)
    o = ptr(table, 1)
    largest = const_f32(-1e999)
    for i in range(start, stop):
        largest = rmax_f32(largest, load_f32(x, i))
    total = const_f32(0.0)
    for i in range(start, stop):
        power = exp_f32(sub_f32(load_f32(x, i), largest))
        total = radd_f32(total, power)
        store_f32(o, i, power)
    for i in range(start, stop):
        storerw_f32(o, i, div_f32(loadrw_f32(o, i), total))
"""


def test_a_softmax_row() -> None:
    x = np.random.default_rng(2).normal(0, 5, 1001).astype(np.float32)
    out = np.empty_like(x)
    Kernel(SOFTMAX_ROW)([x, out], 0, x.size)
    np.testing.assert_allclose(out, special.softmax(x.astype(np.float64)), rtol=2e-6)
    x[17] = np.nan
    Kernel(SOFTMAX_ROW)([x, out], 0, x.size)
    assert np.isnan(out).all()
