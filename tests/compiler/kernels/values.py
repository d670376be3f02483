"""Deterministic operands that cover the edges of a data type, and equality that tells signed zeros apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .loops import dtype_of

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")


def samples(dtype: str, count: int = 400) -> npt.NDArray[Any]:
    """Special values, and `count` bit patterns drawn evenly (hence every exponent, NaN and infinity of the floats)."""
    kind = dtype_of(dtype)
    bits = np.random.default_rng(7).integers(0, 256, (count, kind.itemsize), dtype=np.uint8)
    if dtype == "bool":
        return bits.ravel() % 2 == 1
    drawn = bits.view(kind).ravel()
    return np.concatenate([_edges(dtype), drawn])


def _edges(dtype: str) -> npt.NDArray[Any]:
    kind = dtype_of(dtype)
    if dtype in INTEGERS:
        bounds = np.iinfo(kind)
        near = [bounds.min, bounds.min + 1, bounds.max, bounds.max - 1, 0, 1, 2, 3, 7, 100, bounds.max // 2]
        signed = [-1, -2, -3, -7, -100] if bounds.min < 0 else []
        return np.array(near + signed, kind)
    whole = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 127.5, 128.0, 255.5, 256.0, 32767.5, 65504.0, 65519.0, 65520.0]
    tiny = [6e-8, 3e-8, 1e-40]
    powers = [2.0**n for n in (-149, -126, -24, -14, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64)]
    far = [np.inf, np.nan, 3.4028234663852886e38]
    values = np.array([sign * v for v in whole + tiny + powers + far for sign in (1, -1)])
    with np.errstate(over="ignore", under="ignore"):
        rounded = values.astype(kind)
        neighbours = [np.nextafter(rounded, kind.type(s)) for s in (0, np.inf)] if kind.kind == "f" else []
    return np.concatenate([rounded, *neighbours])


def pairs(dtype: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Every edge with every edge, and drawn values with drawn values."""
    edges, drawn = _edges(dtype), samples(dtype, 4000)
    x, y = (grid.ravel() for grid in np.meshgrid(edges, edges))
    return np.concatenate([x, drawn]), np.concatenate([y, drawn[::-1]])


def assert_same(actual: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    """Equal bits, where all NaNs count as one value."""
    assert actual.dtype == expected.dtype
    raw = np.dtype(f"u{actual.dtype.itemsize}")
    same = actual.view(raw) == expected.view(raw)
    if actual.dtype.kind not in "iub":
        same |= np.isnan(actual.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    wrong = np.flatnonzero(~same)
    first = wrong[:5]
    assert not wrong.size, f"{wrong.size} differ, first at {first}: {actual[first]} is not {expected[first]}"
