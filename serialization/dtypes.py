"""Element types of the ``.bsl`` format: their names, codes on disk, widths, and the NumPy types that hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["DTYPES", "DType", "dtype_by_code", "dtype_of", "raw_bits", "same_array"]


@dataclass(frozen=True)
class DType:
    """One element type; ``code`` is its byte on disk, ``bits`` its width there (4 = two elements a byte)."""

    name: str
    code: int
    bits: int

    def numpy(self) -> np.dtype:
        """The NumPy type in the machine's byte order; imports ml_dtypes only for the types that NumPy lacks."""
        if self.name in _NUMPY_NAMES:
            return np.dtype(self.name)
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, self.name))

    def byte_count(self, elements: int) -> int:
        """Bytes that ``elements`` of this type take on disk."""
        return (elements * self.bits + 7) // 8


_BITS = {
    "float32": 32, "float16": 16, "float64": 64, "bfloat16": 16,
    "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64,
    "bool": 8, "int4": 4, "uint4": 4,
    "float8_e4m3fn": 8, "float8_e4m3fnuz": 8, "float8_e5m2": 8, "float8_e5m2fnuz": 8,
}  # fmt: skip

_NUMPY_NAMES = frozenset(name for name in _BITS if name[:6] not in ("bfloat", "float8") and not name.endswith("int4"))

DTYPES: dict[str, DType] = {name: DType(name, code, bits) for code, (name, bits) in enumerate(_BITS.items(), start=1)}
"""Every element type by name. Codes follow the order of this table and are fixed: new types go to its end."""

_BY_CODE = {dtype.code: dtype for dtype in DTYPES.values()}


def dtype_by_code(code: int) -> DType | None:
    """The element type with the given byte on disk, or None."""
    return _BY_CODE.get(code)


def dtype_of(array: np.ndarray) -> DType | None:
    """The element type of a NumPy array (any byte order), or None if the format has none for it."""
    return DTYPES.get(array.dtype.name)


def raw_bits(array: np.ndarray) -> np.ndarray:
    """The same elements, strides included, as unsigned integers of the same width and byte order."""
    return array.view(np.dtype(f"{array.dtype.byteorder.replace('|', '=')}u{array.dtype.itemsize}"))


def same_array(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays have the same element type, shape and bits; byte order and strides do not matter."""
    if left.dtype.name != right.dtype.name or left.shape != right.shape:
        return False
    return bool(np.array_equal(raw_bits(left), raw_bits(right)))
