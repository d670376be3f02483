"""Casts from and to the floats of 8 bits or less, which regions hold by their bits: both are looked up in tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..host.conversion import convert
from ..node import NodeContext
from ..tensor import Tensor, carrier_array, onnx_dtype

__all__ = ["SMALL_FLOATS", "bits_table", "decode", "encode"]

SMALL_FLOATS = frozenset(
    {"float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"}
    | {"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"}
)


@dataclass(frozen=True, slots=True, eq=False)
class _Encoding:
    """How numbers of one data type become a small float.

    ``bounds`` (a power of two less one of them, ascending, filled up with NaN) are the magnitudes at which the result
    changes; the number of bounds not greater than a magnitude is its place in ``codes``, which holds the bits for
    positive numbers, those for negative ones from place ``count`` on, and last those for NaN.
    """

    bounds: np.ndarray
    codes: np.ndarray
    count: int


def bits_table(source: str, target: str, saturate: bool = True, round_mode: str = "up") -> np.ndarray:
    """The values of a small float's 256 bit patterns in another ONNX data type."""
    values = np.arange(256, dtype=np.uint8).view(onnx_dtype(source))
    return convert(values, onnx_dtype(target), saturate, round_mode)


def look_up(n: NodeContext, x: Tensor, table: np.ndarray) -> Tensor:
    """Entries of a table of 256, by the bytes that a tensor is held as."""
    places = n.emit("cast", x, data_type="int32", dtype="int32")
    return n.emit("gather", n.constant(table), places, axis=0)


def decode(n: NodeContext, x: Tensor, target: str, saturate: bool = True, round_mode: str = "up") -> Tensor:
    """A small float's tensor in another ONNX data type."""
    return look_up(n, x, bits_table(x.dtype, target, saturate, round_mode))


def encode(n: NodeContext, x: Tensor, target: str, saturate: bool, round_mode: str) -> Tensor:
    """A tensor of float32 or float64 as a small float, rounded once."""
    encoding = _encoding(target, x.dtype, saturate, round_mode)
    zero = n.scalar(0.0, like=x)
    place = _count_bounds(n, n.emit("abs", x), encoding.bounds)
    # The reciprocal tells the sign of zeros, x itself that of infinities.
    below = n.emit("lesser", n.emit("reciprocal", x), zero)
    negative = n.emit("logical_or", n.emit("lesser", x, zero), below)
    offset = n.emit("cast", negative, data_type="int32")
    place = n.emit("add", place, n.emit("mul", offset, n.constant(encoding.count, "int32")))
    last = n.constant(2 * encoding.count, "int32")
    place = n.emit("where", n.emit("is_nan", x), last, place)
    return n.emit("gather", n.constant(encoding.codes), place, axis=0, dtype=target)


def _count_bounds(n: NodeContext, magnitude: Tensor, bounds: np.ndarray) -> Tensor:
    """How many bounds are not greater than each magnitude: a binary search that takes the same steps for all."""
    step = (len(bounds) + 1) // 2
    reached = n.emit("greater_or_equal", magnitude, n.constant(bounds[step - 1]))
    count = n.emit("mul", n.emit("cast", reached, data_type="int32"), n.constant(step, "int32"))
    table = n.constant(bounds)
    while step > 1:
        step //= 2
        bound = n.emit("gather", table, n.emit("add", count, n.constant(step - 1, "int32")), axis=0)
        reached = n.emit("greater_or_equal", magnitude, bound)
        more = n.emit("mul", n.emit("cast", reached, data_type="int32"), n.constant(step, "int32"))
        count = n.emit("add", count, more)
    return count


@cache
def _encoding(target: str, source: str, saturate: bool, round_mode: str) -> _Encoding:
    dtype, wide = onnx_dtype(target), np.dtype(source)

    def bits(values: np.ndarray) -> np.ndarray:
        return convert(values, dtype, saturate, round_mode).view(np.uint8)

    candidates = _candidates(target).astype(wide)
    candidates = np.unique(np.concatenate([candidates, np.nextafter(candidates, wide.type(np.inf))]))
    bounds = candidates[bits(candidates) != bits(np.nextafter(candidates, wide.type(0)))]
    samples = np.concatenate([np.zeros(1, wide), bounds])
    codes = np.concatenate([bits(samples), bits(-samples), bits(np.full(1, np.nan, wide))])
    size = (1 << len(bounds).bit_length()) - 1
    padded = np.concatenate([bounds, np.full(size - len(bounds), np.nan, wide)])
    return _Encoding(padded, carrier_array(codes.view(dtype), target), len(samples))


def _candidates(target: str) -> np.ndarray:
    """Magnitudes at or right after which the result may change: values, midpoints, the end of the range."""
    values = np.arange(256, dtype=np.uint8).view(onnx_dtype(target)).astype(np.float64)
    finite = np.unique(np.abs(values[np.isfinite(values)]))
    beyond = 2 * finite[-1] - finite[-2]
    finite = np.append(finite, beyond)
    return np.concatenate([finite[finite > 0], (finite[1:] + finite[:-1]) / 2])
