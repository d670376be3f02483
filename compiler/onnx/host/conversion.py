"""Conversion of tensors between all numeric ONNX types, bool included: for Cast, QuantizeLinear, DequantizeLinear.

Where ONNX leaves results open: a float beyond the range of an integer of 8 to 64 bits becomes the nearest end of the
range and NaN 0, as the core's ``cast`` does; a float that becomes an integer of 4 or 2 bits is truncated and keeps its
low bits, as ONNX's own test cases have it (what is not finite gives 0). A complex number gives its real part.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from basalt.compiler.onnx.host.element_types import (
    FLOAT4,
    FLOAT6,
    FLOAT8,
    FLOAT8_E8M0,
    bits,
    integer_range,
    is_float,
    is_integer,
)

__all__ = ["ROUND_MODES", "convert", "exact_float64"]

ROUND_MODES = ("up", "down", "nearest")

_GRIDS: dict[np.dtype, tuple[int, int]] = {
    np.dtype(ml_dtypes.bfloat16): (7, -126),
    np.dtype(ml_dtypes.float8_e4m3fn): (3, -6),
    np.dtype(ml_dtypes.float8_e4m3fnuz): (3, -7),
    np.dtype(ml_dtypes.float8_e5m2): (2, -14),
    np.dtype(ml_dtypes.float8_e5m2fnuz): (2, -15),
    np.dtype(ml_dtypes.float6_e2m3fn): (3, 0),
    np.dtype(ml_dtypes.float6_e3m2fn): (2, -2),
    np.dtype(ml_dtypes.float4_e2m1fn): (1, 0),
}
"""Fraction bits and smallest normal exponent of the types that ml_dtypes would reach by rounding twice."""

_E8M0_MIN, _E8M0_MAX = -127, 127


def convert(x: np.ndarray, dtype: np.dtype, saturate: bool = True, round_mode: str = "up") -> np.ndarray:
    """``x`` in another numeric type, rounded once.

    To floats: to nearest, ties to even; float8 beyond the largest value becomes the largest (``saturate``), else
    infinity or NaN (Cast's tables); float6 and float4 always saturate; float8e8m0 as :func:`_to_e8m0` says. Integers to
    integers keep their low bits. To bool: whether the value differs from 0.
    """
    if x.dtype == dtype:
        return x
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            return x.astype(dtype) if x.dtype.kind in "biufc" else exact_float64(x).astype(dtype)
        real = x.real if x.dtype.kind == "c" else x
        if dtype == np.bool_:
            return (x if x.dtype.kind == "c" else exact_float64(x)) != 0
        if is_integer(dtype):
            return _float_to_integer(real, dtype) if is_float(real.dtype) else _wrap(real, dtype)
        if dtype == FLOAT8_E8M0:
            return _to_e8m0(exact_float64(real), saturate, round_mode)
        if dtype in _GRIDS:
            return _to_grid(exact_float64(real), dtype, saturate)
        if dtype.itemsize >= 4 and real.dtype.kind in "biu":
            return real.astype(dtype)
        return exact_float64(real).astype(dtype)


def exact_float64(x: np.ndarray) -> np.ndarray:
    """``x`` as float64; 64-bit integers beyond 2**53 as near values that round to float32 or less as ``x`` does.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.
    """
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        low = np.asarray(2047, x.dtype)
        near = x.astype(np.float64)
        sticky = (x & ~low) | np.where(x & low, low + np.asarray(1, x.dtype), 0).astype(x.dtype)
        return np.where(np.abs(near) < 2.0**53, near, sticky.astype(np.float64))
    if x.dtype.isbuiltin == 1:
        return x.astype(np.float64)
    if is_integer(x.dtype):
        return x.astype(np.int8).astype(np.float64)
    return x.astype(np.float32).astype(np.float64)


def _wrap(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Integers or bools as integers: the low bits, in two's complement."""
    if x.dtype.kind not in "biu":
        x = x.astype(np.int8)
    if dtype.kind in "iu":
        return x.astype(dtype)
    return _low_bits(x.astype(np.int64), dtype)


def _low_bits(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The low 4 or 2 bits of the int64 ``x`` as a value of ``dtype``."""
    low, high = integer_range(dtype)
    return ((x - low) % (high - low + 1) + low).astype(np.int8).astype(dtype)


def _float_to_integer(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    wide = exact_float64(x)
    if bits(dtype) < 8:
        whole = np.where(np.isfinite(wide), np.trunc(wide), 0)
        return _low_bits(np.fmod(whole, 1 << bits(dtype)).astype(np.int64), dtype)
    low, high = integer_range(dtype)
    whole = np.trunc(np.where(np.isnan(wide), 0, wide))
    # float(high) may be one above the largest value, which float64 cannot hold.
    over, under = whole >= float(high), whole <= float(low)
    inside = np.where(over | under, 0, whole).astype(dtype)
    return np.where(over, dtype.type(high), np.where(under, dtype.type(low), inside)).astype(dtype)


def _to_grid(wide: np.ndarray, dtype: np.dtype, saturate: bool) -> np.ndarray:
    """float64 values as a small float type: rounded to its grid first, so that the cast that follows is exact."""
    fraction, least = _GRIDS[dtype]
    exponent = np.maximum(np.frexp(wide)[1] - 1, least)
    unit = np.ldexp(1.0, exponent - fraction)
    rounded = np.where(np.isfinite(wide), np.rint(wide / unit) * unit, wide)
    rounded = np.copysign(rounded, wide)
    if dtype in FLOAT6 or dtype == FLOAT4 or (dtype in FLOAT8 and saturate):
        largest = float(ml_dtypes.finfo(dtype).max)
        rounded = np.clip(rounded, -largest, largest)
    return rounded.astype(np.float32).astype(dtype)


def _to_e8m0(wide: np.ndarray, saturate: bool, round_mode: str) -> np.ndarray:
    """float64 values as powers of two, by the standard's table; the sign, which ONNX leaves open, is ignored.

    ``up``: to the power of two that is not smaller, ``down``: not larger, ``nearest``: ties up. What lies outside
    2**-127 to 2**127 becomes the nearer end (``saturate``) or NaN; NaN stays NaN.
    """
    magnitude = np.abs(wide)
    mantissa, exponent = np.frexp(np.where(np.isfinite(magnitude), magnitude, 1.0))
    exponent = exponent - 1
    step = {"up": mantissa > 0.5, "down": np.zeros(mantissa.shape, np.bool_), "nearest": mantissa >= 0.75}[round_mode]
    code = np.clip(exponent + step, _E8M0_MIN, _E8M0_MAX)
    over, under = magnitude > 2.0**_E8M0_MAX, magnitude < 2.0**_E8M0_MIN
    code = np.where(over, _E8M0_MAX, np.where(under, _E8M0_MIN, code)) + 127
    lost = np.isnan(wide) if saturate else np.isnan(wide) | over | under
    return np.where(lost, 255, code).astype(np.uint8).view(FLOAT8_E8M0)
