"""Converters of options: each checks what a caller gave and returns the canonical Python value, or raises RuleError."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Set
from itertools import islice
from typing import Any

import numpy as np

from .casts import cast
from .dims import SymDim
from .schema import fail
from .types import WEBNN_TYPES, integer_bounds, is_float

UINT_MAX = 2**32 - 1
MAX_TENSORS = 8192
"""How many tensors an operator may take or give (the standard's valid tensor count): the longest sequence in a call."""
Convert = Callable[[Any], Any]


def boolean(value: Any) -> bool:
    """A bool."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    fail(f"expected True or False, got {value!r}")


def integer(low: int, high: int) -> Convert:
    """An integer within bounds; bool and non-integral numbers are refused (WebIDL's EnforceRange)."""

    def convert(value: Any) -> int:
        if isinstance(value, (bool, np.bool_)):
            fail(f"expected an integer from {low} to {high}, got {value!r}")
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            value = int(value)
        try:
            number = operator.index(value)
        except TypeError:
            fail(f"expected an integer from {low} to {high}, got {value!r}")
        if not low <= number <= high:
            shown = number if number.bit_length() <= 256 else f"one of {number.bit_length()} bits"
            fail(f"expected an integer from {low} to {high}, got {shown}")
        return number

    return convert


uint = integer(0, UINT_MAX)
"""An unsigned 32-bit integer."""
int32 = integer(-(2**31), 2**31 - 1)


def listed(value: Any) -> list[Any]:
    """The items of a sequence or an iterator; what has no order (a set), no end or no items is refused."""
    if isinstance(value, (str, bytes, Mapping, Set)):
        fail(f"expected a sequence, got {value!r}")
    try:
        iterator = iter(value)
    except TypeError:
        fail(f"expected a sequence, got {value!r}")
    items = list(islice(iterator, MAX_TENSORS + 1))
    if len(items) > MAX_TENSORS:
        fail(f"expected at most {MAX_TENSORS} values, got more")
    return items


def sequence(item: Convert, length: int | None = None) -> Convert:
    """A tuple of converted items, of a given length if one is stated. Its length may also be checked by the rule."""

    def convert(value: Any) -> tuple[Any, ...]:
        items = tuple(item(v) for v in listed(value))
        if length is not None and len(items) != length:
            fail(f"expected {length} values, got {len(items)}: {items}")
        return items

    return convert


def dimension(value: Any) -> int | SymDim:
    """A dimension: an unsigned integer or a symbolic one."""
    return value if isinstance(value, SymDim) else uint(value)


def positive(value: Any) -> int | SymDim:
    """A dimension that is not 0."""
    return value if isinstance(value, SymDim) else integer(1, UINT_MAX)(value)


def nullable(item: Convert) -> Convert:
    """None, or what ``item`` accepts."""
    return lambda value: None if value is None else item(value)


def number(value: Any) -> int | float:
    """An MLNumber: an int (of any size) or a float, infinities and NaN included."""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    fail(f"expected a number, got {value!r}")


def double(value: Any) -> float:
    """A finite double (WebIDL's double refuses infinities and NaN)."""
    given = number(value)
    result = _double(given) if isinstance(given, int) else given
    if not math.isfinite(result):
        fail(f"expected a finite number, got {result}")
    return result


def enum(*members: str) -> Convert:
    """One of the given strings."""

    def convert(value: Any) -> str:
        if isinstance(value, str) and value in members:
            return value
        fail(f"expected one of {', '.join(members)}, got {value!r}")

    return convert


def data_type(value: Any) -> str:
    """A member of MLOperandDataType, by name or as a NumPy data type."""
    name = value if isinstance(value, str) else getattr(value, "__name__", None) or getattr(value, "name", None)
    if name in WEBNN_TYPES:
        return str(name)
    fail(f"expected one of {', '.join(WEBNN_TYPES)}, got {value!r}")


def cast_number(value: int | float, dtype: str) -> int | float:
    """A number cast to a data type (the standard's section "Casting"): rounded to nearest even, integers clamped."""
    if dtype.startswith("complex"):
        return value
    if is_float(dtype):
        if isinstance(value, int):
            value = _double(value) if dtype == "float64" else _odd_double(value)
        return float(cast(np.asarray(value, np.float64), dtype).astype(np.float64))
    low, high = integer_bounds(dtype)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
    return min(max(round(value), low), high)


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _odd_double(value: int) -> float:
    """An int as a float, its last bit set if bits were cut off: rounding this again gives what rounding once would."""
    size = abs(value)
    cut = max(size.bit_length() - 53, 0)
    kept = size >> cut
    if kept << cut != size:
        kept |= 1
    return math.copysign(math.ldexp(kept, cut) if size.bit_length() <= 1024 else math.inf, 1 if value >= 0 else -1)
