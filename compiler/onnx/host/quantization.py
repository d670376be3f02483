"""QuantizeLinear and DequantizeLinear in all versions and formats: a tensor, an axis or blocks with one scale each."""

from __future__ import annotations

import numpy as np

from basalt.compiler.onnx.host.checks import axis_of, real_tensor, tensor
from basalt.compiler.onnx.host.conversion import convert, exact_float64
from basalt.compiler.onnx.host.element_types import (
    FLOAT4,
    FLOAT6,
    FLOAT8,
    FLOAT8_E8M0,
    IEEE_FLOATS,
    dtype_of_code,
    integer_range,
    is_integer,
    type_name,
)
from basalt.compiler.onnx.host.registry import HostNode, host_op

_BLOCKED = 21
"""The version from which a scale may stand for a block."""


def _optional_type(n: HostNode, attribute: str) -> np.dtype | None:
    code = int(n.attr(attribute, 0))
    return dtype_of_code(n, code, attribute) if code else None


def _spread(n: HostNode, name: str, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A scale or zero point so that it broadcasts to ``shape``."""
    if value.size == 1 and value.ndim <= 1:
        return value.reshape(())
    rank = len(shape)
    axis = 0 if rank == 1 else axis_of(n, int(n.attr("axis", 1)), rank)
    block = int(n.attr("block_size", 0)) if n.version >= _BLOCKED else 0
    if block < 0:
        raise n.error(f"attribute 'block_size' is {block}, expected 0 or more")
    if not block:
        if value.shape != shape[axis : axis + 1]:
            raise n.error(f"input {name!r} has shape {value.shape}, expected a scalar or {shape[axis : axis + 1]}")
        return value.reshape([-1 if a == axis else 1 for a in range(rank)])
    expected = tuple(-(-size // block) if a == axis else size for a, size in enumerate(shape))
    if value.shape != expected:
        raise n.error(
            f"input {name!r} has shape {value.shape}, expected {expected} for blocks of {block} on axis {axis}"
        )
    return np.take(value, np.arange(shape[axis]) // block, axis=axis)


def _scale_and_zero(
    n: HostNode, shape: tuple[int, ...], scale: np.ndarray, zero_point: np.ndarray | None, names: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Both, broadcastable to ``shape``; no zero point where all are 0, as adding 0 would lose the sign of a zero."""
    scale = real_tensor(n, names[0], scale)
    if zero_point is None:
        return _spread(n, names[0], scale, shape), None
    zero_point = real_tensor(n, names[1], zero_point)
    if zero_point.shape != scale.shape and (zero_point.size, scale.size) != (1, 1):
        raise n.error(f"input {names[1]!r} has shape {zero_point.shape}, expected the scale's {scale.shape}")
    wide = exact_float64(zero_point)
    zero = _spread(n, names[1], wide, shape) if wide.any() else None
    return _spread(n, names[0], scale, shape), zero


def _quantized_type(n: HostNode, zero_point: np.ndarray | None) -> np.dtype:
    asked = _optional_type(n, "output_dtype")
    dtype = asked or np.dtype(np.uint8) if zero_point is None else tensor(n, "y_zero_point", zero_point).dtype
    if asked is not None and asked != dtype:
        raise n.error(f"input 'y_zero_point' is of type {type_name(dtype)}, expected output_dtype {type_name(asked)}")
    if not (is_integer(dtype) or dtype in FLOAT8 or dtype in FLOAT6 or dtype == FLOAT4):
        raise n.error(f"the result would be of type {type_name(dtype)}, expected a quantised type")
    return dtype


def _quotient(n: HostNode, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """``x / scale`` in the type ``precision``, or else that of the scale, as float64.

    A scale of float8e8m0, a power of two, divides exactly in the type of ``x``; one of int32 divides in float64.
    """
    work = _optional_type(n, "precision") or scale.dtype
    if work == FLOAT8_E8M0:
        work = x.dtype if x.dtype in IEEE_FLOATS else np.dtype(np.float32)
    elif is_integer(work):
        work = np.dtype(np.float64)
    if work not in IEEE_FLOATS:
        raise n.error(f"the division would be in type {type_name(work)}, expected a floating-point type")
    with np.errstate(all="ignore"):
        return exact_float64(np.asarray(convert(x, work) / convert(scale, work)))


@host_op("QuantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def quantize_linear(
    n: HostNode, x: np.ndarray, y_scale: np.ndarray, y_zero_point: np.ndarray | None = None
) -> np.ndarray:
    """``saturate(round(x / y_scale) + y_zero_point)`` in the type of the zero point, of ``output_dtype``, or uint8.

    Integers: rounded to even, clamped, NaN as 0. Floats: converted as Cast does, with ``saturate`` for float8.
    """
    x = real_tensor(n, "x", x)
    dtype = _quantized_type(n, y_zero_point)
    scale, zero = _scale_and_zero(n, x.shape, y_scale, y_zero_point, ("y_scale", "y_zero_point"))
    quotient = _quotient(n, x, scale)
    if not is_integer(dtype):
        return convert(quotient if zero is None else quotient + zero, dtype, bool(n.attr("saturate", 1)))
    low, high = integer_range(dtype)
    steps = np.rint(quotient) if zero is None else np.rint(quotient) + zero
    # Nothing is left to wrap, and int64 reaches every integer type.
    return convert(convert(np.clip(steps, low, high), np.dtype(np.int64)), dtype)


@host_op("DequantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def dequantize_linear(
    n: HostNode, x: np.ndarray, x_scale: np.ndarray, x_zero_point: np.ndarray | None = None
) -> np.ndarray:
    """``(x - x_zero_point) * x_scale`` in ``output_dtype`` or the type of the scale.

    Difference and product are taken in float32 and then rounded to the type, as ONNX's reference and ONNX Runtime do:
    in float16 a uint16 would already overflow.
    """
    x = real_tensor(n, "x", x)
    given = x.dtype if x_zero_point is None else tensor(n, "x_zero_point", x_zero_point).dtype
    if given != x.dtype:
        raise n.error(f"input 'x_zero_point' is of type {type_name(given)}, expected {type_name(x.dtype)}")
    dtype = _optional_type(n, "output_dtype") or tensor(n, "x_scale", x_scale).dtype
    if dtype not in IEEE_FLOATS:
        raise n.error(f"the result would be of type {type_name(dtype)}, expected a floating-point type (output_dtype)")
    scale, zero = _scale_and_zero(n, x.shape, x_scale, x_zero_point, ("x_scale", "x_zero_point"))
    work = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    wide = exact_float64(x)
    with np.errstate(all="ignore"):
        difference = wide if zero is None else wide - zero
        return convert(np.asarray(difference.astype(work) * convert(scale, work)), dtype)
