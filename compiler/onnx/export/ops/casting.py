"""Casts: ONNX leaves open what floats beyond an integer type's range, infinities and NaN become."""

from __future__ import annotations

from basalt.ops.types import integer_bounds, is_float
from basalt.serialization.onnx import ELEMENT_TYPES

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor


@exports("cast")
def cast(n: NodeWriter) -> Tensor:
    x, dtype = n["input"], n.out[0].dtype
    if is_float(x.dtype) and not is_float(dtype) and dtype != "bool":
        return saturated(n, x, dtype)
    return n.cast(x, dtype)


def saturated(n: NodeWriter, x: Tensor, dtype: str) -> Tensor:
    """Floats as integers: truncated, clamped to the range, NaN as 0."""
    x = n.widened(x)
    if dtype in ("int64", "uint64"):
        return _saturated_wide(n, x, dtype)
    if dtype in ("int32", "uint32"):
        # float32 holds neither bound.
        x = n.cast(x, "float64")
    low, high = (n.scalar(float(bound), x.dtype) for bound in integer_bounds(dtype))
    inside = n.where(n.call("IsNaN", x), n.scalar(0.0, x.dtype), n.call("Clip", x, low, high))
    carrier = n.writer.carrier(dtype)
    if carrier == dtype and dtype in ("int4", "uint4"):
        return n.cast(n.cast(inside, "int8" if dtype == "int4" else "uint8"), dtype)
    return n.cast(inside, carrier)


def _saturated_wide(n: NodeWriter, x: Tensor, dtype: str) -> Tensor:
    """As no float type holds the bounds of 64 bits, what reaches them is set aside."""
    low, high = integer_bounds(dtype)
    over = n.call("GreaterOrEqual", x, n.scalar(float(high), x.dtype))
    under = n.call("LessOrEqual", x, n.scalar(float(low), x.dtype))
    outside = n.call("Or", n.call("Or", over, under), n.call("IsNaN", x))
    inside = n.cast(n.where(outside, n.scalar(0.0, x.dtype), x), dtype)
    return n.where(over, n.scalar(high, dtype), n.where(under, n.scalar(low, dtype), inside))


@exports("bitcast")
def bitcast(n: NodeWriter) -> Tensor:
    """Between integers of one width Cast keeps the bits; for floats ONNX has an operator from opset 26 on."""
    x, dtype = n["input"], n.out[0].dtype
    if not is_float(x.dtype) and not is_float(dtype):
        return n.cast(x, dtype)
    return n.call("BitCast", x, dtype=dtype, to=ELEMENT_TYPES[dtype].code)
