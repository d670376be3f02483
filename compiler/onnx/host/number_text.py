"""Numbers as strings and back, as Cast does it.

To strings ONNX asks for "plain floating-point representation" and reserves "INF", "-INF" and "NaN". ONNX Runtime writes
what C's ``%.8g`` gives ("1", "0.1", "1e+10"), its reference Python's ``str`` ("1.0", "10000000000.0"). Here float32 and
narrower types are written as ONNX Runtime does, float64 (which eight digits would damage) with the fewest digits that
read back as the same value; bool as "1" and "0".
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from basalt.compiler.onnx.host.conversion import convert
from basalt.compiler.onnx.host.element_types import integer_range, is_integer, string_array, type_name
from basalt.compiler.onnx.host.registry import HostNode

__all__ = ["to_numbers", "to_strings"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_SPECIAL = {"inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "nan": np.nan, "+nan": np.nan, "-nan": np.nan}
_MAX_EXPONENT = 400
"""Beyond this, a decimal exponent is out of the range of every type, and its exact value would take long to compute."""


def to_strings(x: np.ndarray) -> np.ndarray:
    """The elements of a real tensor as strings."""
    if x.dtype == np.bool_:
        texts = ["1" if v else "0" for v in x.flat]
    elif is_integer(x.dtype):
        texts = [str(int(v)) for v in x.flat]
    elif x.dtype == np.float64:
        texts = [_special(v) or repr(v).removesuffix(".0") for v in x.ravel().tolist()]
    else:
        texts = [_special(v) or f"{v:.8g}" for v in x.astype(np.float32).ravel().tolist()]
    return string_array(texts, x.shape)


def _special(value: float) -> str | None:
    if np.isnan(value):
        return "NaN"
    return ("INF" if value > 0 else "-INF") if np.isinf(value) else None


def to_numbers(n: HostNode, x: np.ndarray, dtype: np.dtype, saturate: bool, round_mode: str) -> np.ndarray:
    """Strings as numbers of ``dtype``: decimal literals, INF and NaN in any case, white space around them ignored.

    Fractions are cut off for integers; a value beyond an integer type's range, or a text that is no number, is an
    error. For bool also "true" and "false".
    """
    if dtype == np.bool_:
        return np.array([_to_bool(n, v) for v in x.flat], dtype=np.bool_).reshape(x.shape)
    if is_integer(dtype):
        values = [_to_integer(n, v, dtype) for v in x.flat]
        wide = np.array(values, dtype=np.uint64 if dtype == np.uint64 else np.int64)
        return convert(wide.reshape(x.shape), dtype)
    floats = np.array([_to_float(n, v, dtype) for v in x.flat], dtype=np.float64).reshape(x.shape)
    return convert(floats, dtype, saturate, round_mode)


def _literal(n: HostNode, text: str, dtype: np.dtype) -> str:
    stripped = str(text).strip(" \t\n\r\f\v")
    if stripped.lower() in _SPECIAL or _NUMBER.fullmatch(stripped):
        return stripped
    raise n.error(f"input holds the string {text!r}, expected a number to cast to {type_name(dtype)}")


def _to_float(n: HostNode, text: str, dtype: np.dtype) -> float:
    literal = _literal(n, text, dtype)
    special = _SPECIAL.get(literal.lower())
    return float(literal) if special is None else special


def _to_integer(n: HostNode, text: str, dtype: np.dtype) -> int:
    literal = _literal(n, text, dtype).lower()
    low, high = integer_range(dtype)
    if literal not in _SPECIAL:
        mantissa, _, exponent = literal.partition("e")
        if abs(int(exponent or 0)) <= _MAX_EXPONENT and len(mantissa) <= _MAX_EXPONENT:
            value = int(Fraction(literal))
            if low <= value <= high:
                return value
    raise n.error(f"input holds the string {text!r}, expected {low} to {high} to cast to {type_name(dtype)}")


def _to_bool(n: HostNode, text: str) -> bool:
    word = str(text).strip().lower()
    if word in ("true", "false"):
        return word == "true"
    return _to_float(n, text, np.dtype(np.bool_)) != 0
