"""Casts between data types of NumPy arrays, as the operators and the expressions mean them."""

from __future__ import annotations

import numpy as np

from .types import INT4, integer_bounds, is_float, numpy_dtype


def cast(x: np.ndarray, dtype: str) -> np.ndarray:
    """An array in another data type.

    To a float the nearest value, to even if halfway. A float becomes an integer by truncation, clamped to its range,
    with NaN as 0; an integer becomes another by wrapping around; bool is whether the value differs from 0.
    """
    target = numpy_dtype(dtype)
    if x.dtype == target:
        return x
    with np.errstate(all="ignore"):
        if dtype == "bool":
            return x != 0
        if is_float(dtype):
            # ml_dtypes goes by way of float32, and rounds twice.
            return x.astype(target) if target.kind == "f" else _odd_float32(x).astype(target)
        if is_float(x.dtype.name):
            return _saturate(x, dtype)
        # ml_dtypes cannot cast its 4-bit integers to each other.
        return (x.astype(np.int8) if x.dtype.name in INT4 else x).astype(target)


def _saturate(x: np.ndarray, dtype: str) -> np.ndarray:
    """Floats as integers: truncated, clamped to the range, NaN as 0."""
    low, high = integer_bounds(dtype)
    target = numpy_dtype(dtype)
    wide = np.uint64 if dtype == "uint64" else np.int64
    whole = np.trunc(np.where(np.isnan(x.astype(np.float64)), 0.0, x.astype(np.float64)))
    over, under = whole >= float(high), whole <= float(low)
    inside = np.where(over | under, 0.0, whole).astype(wide)
    return np.where(over, np.asarray(high, wide), np.where(under, np.asarray(low, wide), inside)).astype(target)


def _odd_float32(x: np.ndarray) -> np.ndarray:
    """Values in float32, with an odd last bit where inexact: rounding again then gives what rounding once would.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.
    """
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        cut = np.asarray(2047, x.dtype)
        x = np.where(
            np.abs(x.astype(np.float64)) < 2.0**53, x, (x & ~cut) | np.where(x & cut, cut + 1, 0).astype(x.dtype)
        )
    wide = np.asarray(x.astype(np.float64))
    near = np.asarray(wide.astype(np.float32))
    bits = near.view(np.uint32)
    toward_zero = bits - (np.abs(near.astype(np.float64)) > np.abs(wide)).astype(np.uint32)
    inexact = (near != wide) & ~np.isnan(wide)
    return np.where(inexact, toward_zero | np.uint32(1), bits).astype(np.uint32).view(np.float32)
