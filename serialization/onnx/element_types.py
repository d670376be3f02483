"""Element types of ONNX tensors: our names, their TensorProto.DataType codes and how their elements are stored.

Source: onnx.proto (IR version 14), message TensorProto.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["ELEMENT_TYPES", "UNDEFINED", "ElementType", "element_type_by_code", "element_type_of"]

UNDEFINED = "undefined"
"""The data type of a declaration or tensor that states none (code 0)."""


@dataclass(frozen=True)
class ElementType:
    """One element type.

    ``code`` is its TensorProto.DataType, ``bits`` its width in raw_data (0: not storable there), ``field`` the typed
    field that may hold it instead, ``per_entry`` how many elements an entry of that field holds, in lowest terms with
    ``entries``: a complex number takes two entries, an int4 half an entry.
    """

    name: str
    code: int
    bits: int
    field: str
    entries: int = 1
    per_entry: int = 1

    def numpy(self) -> np.dtype:
        """The NumPy type in the machine's byte order, one element a byte for the types narrower than a byte."""
        return _numpy_type(self.name)

    def raw_bytes(self, count: int) -> int:
        """Bytes that ``count`` elements take in raw_data."""
        return (count * self.bits + 7) // 8

    def field_entries(self, count: int) -> int:
        """Entries that ``count`` elements take in the typed field."""
        return -(-count * self.entries // self.per_entry)


_INT32, _INT64, _UINT64 = "int32_data", "int64_data", "uint64_data"

_TABLE = (
    ElementType(UNDEFINED, 0, 0, ""),
    ElementType("float32", 1, 32, "float_data"),
    ElementType("uint8", 2, 8, _INT32),
    ElementType("int8", 3, 8, _INT32),
    ElementType("uint16", 4, 16, _INT32),
    ElementType("int16", 5, 16, _INT32),
    ElementType("int32", 6, 32, _INT32),
    ElementType("int64", 7, 64, _INT64),
    ElementType("string", 8, 0, "string_data"),
    ElementType("bool", 9, 8, _INT32),
    ElementType("float16", 10, 16, _INT32),
    ElementType("float64", 11, 64, "double_data"),
    ElementType("uint32", 12, 32, _UINT64),
    ElementType("uint64", 13, 64, _UINT64),
    ElementType("complex64", 14, 64, "float_data", entries=2),
    ElementType("complex128", 15, 128, "double_data", entries=2),
    ElementType("bfloat16", 16, 16, _INT32),
    ElementType("float8_e4m3fn", 17, 8, _INT32),
    ElementType("float8_e4m3fnuz", 18, 8, _INT32),
    ElementType("float8_e5m2", 19, 8, _INT32),
    ElementType("float8_e5m2fnuz", 20, 8, _INT32),
    ElementType("uint4", 21, 4, _INT32, per_entry=2),
    ElementType("int4", 22, 4, _INT32, per_entry=2),
    ElementType("float4_e2m1fn", 23, 4, _INT32, per_entry=2),
    ElementType("float8_e8m0fnu", 24, 8, _INT32),
    ElementType("uint2", 25, 2, _INT32, per_entry=4),
    ElementType("int2", 26, 2, _INT32, per_entry=4),
    ElementType("float6_e2m3fn", 27, 6, _INT32),
    ElementType("float6_e3m2fn", 28, 6, _INT32),
)

ELEMENT_TYPES: dict[str, ElementType] = {kind.name: kind for kind in _TABLE}
"""Every element type by name."""

_BY_CODE = {kind.code: kind for kind in _TABLE}

_FROM_ML_DTYPES = frozenset(kind.name for kind in _TABLE if 16 <= kind.code <= 28)


@cache
def _numpy_type(name: str) -> np.dtype:
    if name == "string":
        return np.dtype(object)
    if name not in _FROM_ML_DTYPES:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def element_type_by_code(code: int) -> ElementType | None:
    """The element type with a TensorProto.DataType code, or None."""
    return _BY_CODE.get(code)


def element_type_of(array: np.ndarray) -> ElementType | None:
    """The element type of a NumPy array (any byte order), or None; arrays of objects and text are strings."""
    if array.dtype.kind in "OUTS":
        return ELEMENT_TYPES["string"]
    return ELEMENT_TYPES.get(array.dtype.name)
