"""Evaluates scalar expressions in NumPy: floats in float64 and rounded at each cast, integers at their own width.

Where an expression rounds at most once on the way, floats are computed in their own data type, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from . import special
from .casts import cast
from .convert import cast_number
from .expression import Term
from .types import is_float, numpy_dtype

Values = Mapping[str, Any]


def evaluate(term: Term, values: Values, dtype: str) -> np.ndarray:
    """The value of an expression, of data type ``dtype``.

    Args:
        term: the typed expression.
        values: arrays by operand name, numbers by attribute name.
        dtype: the data type of the result.
    """
    with np.errstate(all="ignore"):
        return np.asarray(_round(_value(term, values, _rounds_once(term)), dtype))


@cache
def _rounds_once(term: Term) -> bool:
    """Whether no result of the expression that is rounded to its data type is computed with further."""
    native = {"bool", "float16", "float32", "float64"}
    terms = list(_walk(term))
    return (
        all(t.dtype in native or not is_float(t.dtype) for t in terms)
        and all(t.op in _LEAVES or t.op in _EXACT or t.op in _ROUNDED for t in terms)
        and sum(t.op in _ROUNDED for t in terms) <= 1
    )


def _walk(term: Term) -> Iterator[Term]:
    yield term
    for a in term.args:
        yield from _walk(a)


def _round(x: Any, dtype: str) -> np.ndarray:
    array = np.asarray(x)
    return array if array.dtype == numpy_dtype(dtype) else cast(array, dtype)


def _value(term: Term, values: Values, native: bool) -> Any:
    float_type = numpy_dtype(term.dtype) if native else np.dtype(np.float64)
    if term.op == "name":
        array = np.asarray(values[str(term.value)])
        return array.astype(float_type, copy=False) if is_float(term.dtype) else array
    if term.op in ("const", "param"):
        number = cast_number(values[str(term.value)] if term.op == "param" else term.value, term.dtype)  # type: ignore[arg-type]
        return np.asarray(number, float_type if is_float(term.dtype) else numpy_dtype(term.dtype))
    args = [_value(a, values, native) for a in term.args]
    if term.op == "to":
        result = cast(_round(args[0], term.args[0].dtype), term.dtype)
        return result.astype(float_type, copy=False) if is_float(term.dtype) else result
    operand = term.args[-1].dtype
    if term.op in _STEPS and is_float(operand):
        args = [_round(args[0], operand).astype(float_type, copy=False)]
    if is_float(operand):
        return _FLOAT[term.op](*args)
    return (_INTEGER.get(term.op) or _FLOAT[term.op])(*args)


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


_LEAVES = frozenset({"name", "const", "param"})
_EXACT = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "land", "lor", "lxor", "lnot", "select", "max", "min", "abs"}
    | {"neg", "sign", "floor", "ceil", "rint", "trunc", "to"}
)
_ROUNDED = frozenset({"add", "sub", "mul", "div", "mod", "sqrt", "rcp"})
"""Functions whose result in float16 or float32 is the same whether computed there or in float64 and rounded."""

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
    "div": np.divide, "rem": np.fmod, "mod": np.mod, "pow": np.power, "floor": np.floor, "ceil": np.ceil,
    "rint": np.rint, "trunc": np.trunc, "sqrt": np.sqrt, "rcp": np.reciprocal, "exp": np.exp, "expm1": np.expm1,
    "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh,
    "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": special.erf, "erfc": special.erfc, "sigmoid": special.sigmoid,
    "softplus": special.softplus, "gelu": special.gelu, "isnan": np.isnan, "isinf": np.isinf,
}  # fmt: skip

_INTEGER: dict[str, Callable[..., Any]] = {
    **_SHARED,
    "div": _truncated_div,
    "rem": np.fmod,
    "mod": np.mod,
    "pow": _int_pow,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "bitnot": np.invert,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "isnan": lambda x: np.zeros(np.shape(x), bool),
    "isinf": lambda x: np.zeros(np.shape(x), bool),
    **dict.fromkeys(("floor", "ceil", "rint", "trunc"), lambda x: x),
}
