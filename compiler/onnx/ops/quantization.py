"""Linear quantisation: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from basalt.ops import Shape
from basalt.ops.dims import ceil_div

from ..attributes import dtype_of_code
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor, carrier
from .small_floats import SMALL_FLOATS

__all__ = ["QUANTIZED", "is_zero"]

QUANTIZED = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
    "int4": (-8, 7),
    "uint4": (0, 15),
    "int2": (-2, 1),
    "uint2": (0, 3),
}
"""The integer types of quantised tensors, and their ranges."""
_NARROW = ("int4", "uint4", "int2", "uint2")
_FLOATS = ("float32", "float16", "bfloat16", "float64")


class _Granularity(NamedTuple):
    """Where a scale applies: an axis (None for the whole tensor) and the length of a block (0 for all of a place)."""

    axis: int | None
    block: int


@onnx_op("QuantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def quantize_linear(n: NodeContext) -> Tensor:
    x, scale, zero = n.tensor(0), n.tensor(1), n.optional(2)
    dtype, work = _quantized_type(n, zero), _precision(n, x, scale)
    where = _granularity(n, scale, x.shape)
    _check_zero_point(n, scale, zero)
    if work == "float32" and dtype in QUANTIZED:
        steps = _core(n, "quantize_linear", n.cast(x, work), scale, zero, dtype, where)
        return _limited(n, steps, dtype)
    quotient = n.emit("div", n.cast(x, work), _spread(n, n.cast(scale, work), x.shape, where))
    if dtype in QUANTIZED:
        point = None if zero is None else _spread(n, zero, x.shape, where)
        return _saturated(n, n.emit("round_even", quotient), point, dtype)
    if zero is not None and not is_zero(zero):
        # Rounded once, after the sum.
        point = _spread(n, n.cast(zero, "float64"), x.shape, where)
        quotient = n.emit("add", n.cast(quotient, "float64"), point)
    return n.call("Cast", quotient, to=dtype, saturate=n.attr("saturate", 1))


def is_zero(x: Tensor) -> bool:
    """Whether all elements are known to be 0; adding them would lose the sign of a zero."""
    return x.array is not None and not x.array.astype(np.float64).any()


def _precision(n: NodeContext, x: Tensor, scale: Tensor) -> str:
    """The data type in which to divide: the attribute ``precision``, else the scale's.

    An integer divides in float64, and a power of two (float8_e8m0fnu) exactly in the type of the input.
    """
    code = n.attr("precision", 0)
    work = dtype_of_code(code) if code else scale.dtype
    if work == "float8_e8m0fnu":
        work = x.dtype if x.dtype in _FLOATS else "float32"
    elif work == "int32":
        work = "float64"
    if work not in _FLOATS:
        raise n.error(f"the division would be in {work}, expected one of {', '.join(_FLOATS)}")
    return work


def _core(
    n: NodeContext, op: str, x: Tensor, scale: Tensor, zero: Tensor | None, dtype: str, where: _Granularity
) -> Tensor:
    """The core's operator of a name, which computes in float32 and takes blocks that divide their axis."""
    factor = _spread(n, n.cast(scale, "float32"), x.shape, where, whole=True)
    if zero is None:
        point = n.expand(n.constant(0, carrier(dtype)), factor.shape)
    else:
        point = _spread(n, zero, x.shape, where, whole=True)
    return n.emit(op, x, factor, point)


def _limited(n: NodeContext, x: Tensor, dtype: str) -> Tensor:
    """Integers limited to the range of a type of less than 8 bits."""
    if dtype not in _NARROW:
        return x
    low, high = QUANTIZED[dtype]
    return n.emit("clamp", x, min_value=low, max_value=high, dtype=dtype)


def _saturated(n: NodeContext, steps: Tensor, zero: Tensor | None, dtype: str) -> Tensor:
    """Whole numbers in floating point plus the zero point, limited to the range of a type of integers."""
    wide = "float64" if steps.dtype == "float64" else "float32"
    steps = n.cast(steps, wide)
    if zero is not None:
        steps = n.emit("add", steps, n.emit("cast", zero, data_type=wide))
    return _limited(n, n.emit("cast", steps, data_type=carrier(dtype)), dtype)


def _quantized_type(n: NodeContext, zero: Tensor | None) -> str:
    code = n.attr("output_dtype", 0)
    stated = dtype_of_code(code) if code else ""
    if zero is not None and stated and stated != zero.dtype:
        raise n.error(f"attribute output_dtype is {stated}, but the zero point is {zero.dtype}")
    dtype = zero.dtype if zero is not None else stated or "uint8"
    if dtype not in QUANTIZED and dtype not in SMALL_FLOATS:
        raise n.error(f"attribute output_dtype is {dtype}, expected a quantised type")
    return dtype


def _check_zero_point(n: NodeContext, scale: Tensor, zero: Tensor | None) -> None:
    if zero is None or (_is_single(scale) and _is_single(zero)):
        return
    if zero.rank != scale.rank or any(isinstance(a - b, int) and a != b for a, b in zip(zero.shape, scale.shape)):
        raise n.error(f"the zero point has shape {list(zero.shape)}, expected the scale's, {list(scale.shape)}")


def _is_single(x: Tensor) -> bool:
    return x.shape in ((), (1,))


def _granularity(n: NodeContext, scale: Tensor, shape: Shape) -> _Granularity:
    """Where the scale of a tensor of a shape applies, checked."""
    if _is_single(scale):
        return _Granularity(None, 0)
    rank = len(shape)
    # Version 10 knows one number; more of them are taken along the axis that version 13 takes where it is not told.
    axis = 0 if rank == 1 else n.axis(n.attr("axis", 1) if n.version < 13 else n.attr("axis"), rank)
    block = n.attr("block_size", 0)
    if block < 0:
        raise n.error(f"attribute block_size is {block}, expected 0 or more")
    expected = (
        (shape[axis],) if not block else tuple(ceil_div(d, block) if i == axis else d for i, d in enumerate(shape))
    )
    if scale.rank != len(expected) or any(isinstance(a - b, int) and a != b for a, b in zip(scale.shape, expected)):
        raise n.error(f"the scale has shape {list(scale.shape)}, expected one number or {list(expected)}")
    return _Granularity(axis, block)


def _spread(n: NodeContext, x: Tensor, shape: Shape, where: _Granularity, whole: bool = False) -> Tensor:
    """A scale or zero point so that it can be broadcast to a shape; if ``whole``, blocks of one size stay blocks."""
    if where.axis is None:
        return n.reshape(x, (1,) * len(shape))
    if not where.block:
        return n.reshape(x, tuple(x.shape[0] if i == where.axis else 1 for i in range(len(shape))))
    (size,) = n.static(shape[where.axis])
    if whole and size % where.block == 0:
        return x
    return n.emit("gather", x, n.constant(np.arange(size) // where.block, "int64"), axis=where.axis)


@onnx_op("DequantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def dequantize_linear(n: NodeContext) -> Tensor:
    """The product is taken in float32, also where the result is narrower: float16 cannot hold a uint16."""
    x, scale, zero = n.tensor(0), n.tensor(1), n.optional(2)
    code = n.attr("output_dtype", 0)
    dtype = dtype_of_code(code) if code else scale.dtype
    if dtype not in _FLOATS:
        raise n.error(
            f"the result would be {dtype}, expected attribute output_dtype to say one of {', '.join(_FLOATS)}"
        )
    where = _granularity(n, scale, x.shape)
    _check_zero_point(n, scale, zero)
    if x.dtype in SMALL_FLOATS:
        x = n.cast(x, "float32")
        if zero is not None:
            x = n.emit("sub", x, _spread(n, n.cast(zero, "float32"), x.shape, where))
        return n.cast(n.emit("mul", x, _spread(n, n.cast(scale, "float32"), x.shape, where)), dtype)
    return n.cast(_core(n, "dequantize_linear", x, scale, zero, x.dtype, where), dtype)


@onnx_op("DynamicQuantizeLinear", 11)
def dynamic_quantize_linear(n: NodeContext) -> tuple[Tensor, ...]:
    """Scale and zero point from the range of the input and 0; a range of 0 counts as 1, as in ONNX's reference."""
    x = n.tensor(0)
    zero, one = n.scalar(0, x), n.scalar(1, x)
    high = n.emit("max", n.emit("reduce_max", x), zero)
    low = n.emit("min", n.emit("reduce_min", x), zero)
    span = n.emit("where", n.emit("equal", high, low), one, n.emit("sub", high, low))
    scale = n.emit("div", span, n.scalar(255, x))
    start = n.emit("clamp", n.emit("sub", zero, n.emit("div", low, scale)), min_value=0, max_value=255)
    point = n.emit("round_even", start)
    steps = n.emit("add", n.emit("round_even", n.emit("div", x, scale)), point)
    return n.emit("cast", steps, data_type="uint8"), scale, n.emit("cast", point, data_type="uint8")
