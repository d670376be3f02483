"""NumPy's functions that FunctionTransformer and TransformedTargetRegressor may name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import Value
from ..emitter import Emitter

__all__ = ["STRAYING", "emit_function"]


def _scaled_log(base: float) -> Callable[[Emitter, Value], Value]:
    return lambda e, x: e.emit("div", e.emit("log", x), float(np.log(base)))


def _scaled(factor: float) -> Callable[[Emitter, Value], Value]:
    return lambda e, x: e.emit("mul", x, factor)


_NAMES = {
    "abs": "abs",
    "absolute": "abs",
    "fabs": "abs",
    "exp": "exp",
    "expm1": "expm1",
    "log": "log",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "sign": "sign",
    "negative": "neg",
    "reciprocal": "reciprocal",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "round_even",
}
"""The core operator of each."""

_FORMULAS: dict[str, Callable[[Emitter, Value], Value]] = {
    "square": lambda e, x: e.emit("mul", x, x),
    "positive": lambda e, x: x,
    "exp2": lambda e, x: e.emit("pow", e.number(2.0, x), x),
    "log2": _scaled_log(2.0),
    "log10": _scaled_log(10.0),
    "deg2rad": _scaled(float(np.pi / 180)),
    "radians": _scaled(float(np.pi / 180)),
    "rad2deg": _scaled(float(180 / np.pi)),
    "degrees": _scaled(float(180 / np.pi)),
}

STRAYING = frozenset({"log", "log1p", "log2", "log10", "sqrt", "reciprocal", "exp", "expm1", "exp2", "square"}) | {
    "arcsin",
    "arccos",
    "arccosh",
    "arctanh",
    "sinh",
    "cosh",
    "tan",
}
"""Functions that may give NaN or infinity for finite numbers."""


def emit_function(e: Emitter, function: Any, arguments: Any, x: Value) -> Value:
    """A NumPy function of one array, element by element; None stands for the identity.

    Raises UnsupportedError for any other function, and for arguments beside the array.
    """
    if function is None:
        return x
    name = function.__name__ if isinstance(function, np.ufunc) else ""
    if arguments or (name not in _NAMES and name not in _FORMULAS):
        given = f"{function!r} with {arguments}" if arguments else repr(function)
        raise e.unsupported(f"func is {given}: Python functions cannot be translated, and of NumPy's only some")
    return e.emit(_NAMES[name], x) if name in _NAMES else _FORMULAS[name](e, x)
