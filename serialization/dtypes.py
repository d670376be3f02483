"""Element types of the ``.bsl`` format: their names, codes on disk, widths, and the NumPy types that hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["DTYPES", "DType", "dtype_by_code", "dtype_of", "raw_bits", "same_array"]


class DType(NamedTuple):
    """One element type; ``code`` is its byte on disk, ``bits`` its width there (4 = two elements a byte)."""

    name: str
    code: int
    bits: int

    def numpy(self) -> np.dtype:
        """The NumPy type in the machine's byte order; imports ml_dtypes only for the types that NumPy lacks."""
        if self.name not in _FROM_ML_DTYPES:
            return np.dtype(self.name)
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, self.name))

    def byte_count(self, elements: int) -> int:
        """Bytes that ``elements`` of this type take on disk."""
        return (elements * self.bits + 7) // 8

    @property
    def item_size(self) -> int:
        """Bytes that one element takes in memory, where a 4-bit element fills a byte."""
        return max(1, self.bits // 8)


_CODES = {
    "float32": (1, 32),
    "float16": (2, 16),
    "float64": (3, 64),
    "bfloat16": (4, 16),
    "int8": (5, 8),
    "uint8": (6, 8),
    "int16": (7, 16),
    "uint16": (8, 16),
    "int32": (9, 32),
    "uint32": (10, 32),
    "int64": (11, 64),
    "uint64": (12, 64),
    "bool": (13, 8),
    "int4": (14, 4),
    "uint4": (15, 4),
    "float8_e4m3fn": (16, 8),
    "float8_e4m3fnuz": (17, 8),
    "float8_e5m2": (18, 8),
    "float8_e5m2fnuz": (19, 8),
}

_FROM_ML_DTYPES = frozenset(
    {"bfloat16", "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}
)

DTYPES: dict[str, DType] = {name: DType(name, code, bits) for name, (code, bits) in _CODES.items()}
"""Every element type by name. The codes are part of the format and never change."""

_BY_CODE = {dtype.code: dtype for dtype in DTYPES.values()}


def dtype_by_code(code: int) -> DType | None:
    """The element type with the given byte on disk, or None."""
    return _BY_CODE.get(code)


def dtype_of(array: np.ndarray) -> DType | None:
    """The element type of a NumPy array (any byte order), or None if the format has none for it."""
    return DTYPES.get(array.dtype.name)


def raw_bits(array: np.ndarray) -> np.ndarray:
    """The same elements, strides included, as unsigned integers of the same width and byte order."""
    order = array.dtype.byteorder
    return array.view(np.dtype(f"{'=' if order == '|' else order}u{array.dtype.itemsize}"))


def same_array(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays have the same element type, shape and bits; byte order and strides do not matter."""
    if left.dtype.name != right.dtype.name or left.shape != right.shape:
        return False
    if left.dtype.name in ("int4", "uint4"):
        # ml_dtypes ignores the upper half of a 4-bit element's byte, and so does this comparison.
        return bool(np.array_equal(raw_bits(left) & 0x0F, raw_bits(right) & 0x0F))
    return bool(np.array_equal(raw_bits(left), raw_bits(right)))
