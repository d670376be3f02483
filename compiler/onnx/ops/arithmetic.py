"""Element-wise arithmetic of two operands: Add, Sub, Mul, Div, Mod, Pow."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .broadcasting import operands
from .precision import is_float, is_unsigned

_BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}


def _binary(n: NodeContext, op: str) -> Tensor:
    return n.emit(op, *operands(n))


for _name, _op in _BINARY.items():
    onnx_op(_name, 1, 6, 7, 13, 14)(partial(_binary, op=_op))


@onnx_op("Mod", 10, 13, 28)
def mod(n: NodeContext) -> Tensor:
    """The remainder with the sign of the divisor, with ``fmod`` that of the dividend; floats may ask for either."""
    fmod = n.attr("fmod")
    if fmod not in (0, 1):
        raise n.error(f"attribute fmod is {fmod}, expected 0 or 1")
    return n.emit("fmod" if fmod else "mod", n.tensor(0), n.tensor(1))


@onnx_op("Pow", 1, 7, 12, 13, 15)
def power(n: NodeContext) -> Tensor:
    """The base's data type is the result's; base and exponent are brought to one that holds both.

    Integers to unsigned powers are computed modulo 2 ** 64, so that no exponent loses bits.
    """
    base, exponent = operands(n)
    work = _power_dtype(base, exponent)
    return n.cast(n.emit("pow", n.cast(base, work), n.cast(exponent, work)), base.dtype)


def _power_dtype(base: Tensor, exponent: Tensor) -> str:
    if base.dtype == exponent.dtype or _holds(base.dtype, exponent):
        return base.dtype
    if not is_float(base) and not is_float(exponent):
        return "uint64" if is_unsigned(exponent) else "int64"
    return str(np.promote_types(_as_float(base), _as_float(exponent)))


def _as_float(x: Tensor) -> str:
    """The smallest float type of those that are computed in which holds a tensor's values (64-bit integers nearly)."""
    small = ("bfloat16", "float16", "float32", "int8", "uint8", "int16", "uint16")
    return "float32" if x.dtype in small else "float64"


def _holds(dtype: str, x: Tensor) -> bool:
    """Whether a tensor is known and a data type holds its values exactly."""
    if x.array is None or dtype == "bfloat16":
        return False
    with np.errstate(all="ignore"):
        there = x.array.astype(dtype)
        return bool(np.array_equal(there.astype(np.float64), x.array.astype(np.float64), equal_nan=is_float(x)))
