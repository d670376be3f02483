"""Evaluates scalar expressions in NumPy: floats in float64 and rounded at each cast, integers at their own width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import special
from .convert import cast_number
from .expression import BOOL, Term
from .types import integer_bounds, is_float, numpy_dtype

Values = Mapping[str, Any]


def evaluate(term: Term, values: Values, dtype: str) -> np.ndarray:
    """The value of an expression, of data type ``dtype``.

    Args:
        term: the typed expression.
        values: arrays by operand name, numbers by attribute name.
        dtype: the data type of the result.
    """
    with np.errstate(all="ignore"):
        return np.asarray(_round(_value(term, values), dtype))


def cast(x: np.ndarray, dtype: str) -> np.ndarray:
    """A cast between data types: float to integer truncates and saturates with NaN to 0, integers wrap around."""
    target = numpy_dtype(dtype)
    if x.dtype == target:
        return x
    if dtype == BOOL:
        return x != 0
    if x.dtype.kind == "f" or is_float(x.dtype.name):
        x = x.astype(np.float64) if x.dtype != np.float64 else x
        if not is_float(dtype):
            return _saturate(x, dtype)
    with np.errstate(all="ignore"):
        return x.astype(target)


def _saturate(x: np.ndarray, dtype: str) -> np.ndarray:
    low, high = integer_bounds(dtype)
    target = numpy_dtype(dtype)
    wide = np.uint64 if dtype == "uint64" else np.int64
    whole = np.trunc(np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = np.clip(whole, float(low), np.nextafter(float(high) + 1.0, 0.0) if high > 2**53 else float(high))
    with np.errstate(all="ignore"):
        result = inside.astype(wide).astype(target)
    result = np.where(whole >= float(high), np.asarray(high, wide).astype(target), result)
    return np.where(whole <= float(low), np.asarray(low, wide).astype(target), result)


def _round(x: Any, dtype: str) -> np.ndarray:
    array = np.asarray(x)
    return array if array.dtype == numpy_dtype(dtype) else cast(array, dtype)


def _value(term: Term, values: Values) -> Any:
    if term.op == "name":
        array = np.asarray(values[str(term.value)])
        return array.astype(np.float64) if is_float(term.dtype) else array
    if term.op in ("const", "param"):
        number = cast_number(values[str(term.value)] if term.op == "param" else term.value, term.dtype)  # type: ignore[arg-type]
        return np.asarray(number, np.float64 if is_float(term.dtype) else numpy_dtype(term.dtype))
    args = [_value(a, values) for a in term.args]
    if term.op == "to":
        rounded = _round(args[0], term.args[0].dtype)
        result = cast(rounded, term.dtype)
        return result.astype(np.float64) if is_float(term.dtype) else result
    operand = term.args[-1].dtype
    if term.op in _STEPS and is_float(operand):
        args = [_round(args[0], operand).astype(np.float64)]
    if is_float(operand):
        return _FLOAT[term.op](*args)
    return _INTEGER.get(term.op, _FLOAT[term.op])(*args)


def _truncated_div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Division toward zero; x / 0 is 0 and the most negative value / -1 wraps to itself."""
    safe = np.where(b == 0, np.ones_like(b), b)
    minus = (safe == -1) if safe.dtype.kind == "i" else np.zeros(safe.shape, bool)
    divisor = np.where(minus, np.ones_like(safe), safe)
    quotient = a // divisor
    inexact = (a - quotient * divisor) != 0
    quotient = quotient + (inexact & ((a < 0) != (divisor < 0))).astype(quotient.dtype)
    quotient = np.where(minus, np.negative(a) if a.dtype.kind == "i" else a, quotient)
    return np.where(b == 0, np.zeros_like(quotient), quotient)


def _int_pow(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer power, wrapping; a negative exponent gives the truncated reciprocal (0 unless the base is 1 or -1)."""
    a, b = np.broadcast_arrays(a, b)
    if b.dtype.kind != "i":
        return np.power(a, b)
    power = np.power(a, np.maximum(b, 0))
    odd = (b & 1) != 0
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0)).astype(a.dtype)
    return np.where(b < 0, inverse, power)


_STEPS = frozenset({"floor", "ceil", "rint", "trunc"})
"""Functions with jumps: what they take is rounded to its data type first, or results near a jump would differ by one
from those of code that computes in that data type."""

_SHARED: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "abs": np.abs,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "neg": np.negative, "sign": np.sign, "select": np.where, "fma": lambda a, b, c: a * b + c,
    "land": lambda a, b: (a != 0) & (b != 0), "lor": lambda a, b: (a != 0) | (b != 0),
    "lxor": lambda a, b: (a != 0) ^ (b != 0), "lnot": lambda a: a == 0,
}  # fmt: skip

_FLOAT: dict[str, Callable[..., Any]] = {
    **_SHARED,
    "div": np.divide, "rem": np.fmod, "pow": np.power, "floor": np.floor, "ceil": np.ceil, "rint": np.rint,
    "trunc": np.trunc, "sqrt": np.sqrt, "rcp": lambda x: 1.0 / x, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": special.erf, "erfc": special.erfc, "sigmoid": special.sigmoid,
    "softplus": special.softplus, "gelu": special.gelu, "isnan": np.isnan, "isinf": np.isinf,
}  # fmt: skip

_INTEGER: dict[str, Callable[..., Any]] = {
    **_SHARED,
    "div": _truncated_div,
    "rem": lambda a, b: a - _truncated_div(a, b) * b,
    "pow": _int_pow,
    "isnan": lambda x: np.zeros(np.shape(x), bool),
    "isinf": lambda x: np.zeros(np.shape(x), bool),
    **dict.fromkeys(("floor", "ceil", "rint", "trunc"), lambda x: x),
}
