"""ONNX's tensor element types (``TensorProto.DataType``) and the NumPy types that hold them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from basalt.compiler.onnx.host.registry import HostNode

__all__ = [
    "FLOAT4",
    "FLOAT6",
    "FLOAT8",
    "FLOAT8_E8M0",
    "IEEE_FLOATS",
    "STRING",
    "bits",
    "dtype_of_code",
    "integer_range",
    "is_float",
    "is_integer",
    "is_string",
    "sortable",
    "string_array",
    "type_name",
]

STRING = np.dtype(object)
"""Strings are object arrays of ``str``."""

_BY_CODE: dict[int, np.dtype] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    4: np.dtype(np.uint16),
    5: np.dtype(np.int16),
    6: np.dtype(np.int32),
    7: np.dtype(np.int64),
    8: STRING,
    9: np.dtype(np.bool_),
    10: np.dtype(np.float16),
    11: np.dtype(np.float64),
    12: np.dtype(np.uint32),
    13: np.dtype(np.uint64),
    14: np.dtype(np.complex64),
    15: np.dtype(np.complex128),
    16: np.dtype(ml_dtypes.bfloat16),
    17: np.dtype(ml_dtypes.float8_e4m3fn),
    18: np.dtype(ml_dtypes.float8_e4m3fnuz),
    19: np.dtype(ml_dtypes.float8_e5m2),
    20: np.dtype(ml_dtypes.float8_e5m2fnuz),
    21: np.dtype(ml_dtypes.uint4),
    22: np.dtype(ml_dtypes.int4),
    23: np.dtype(ml_dtypes.float4_e2m1fn),
    24: np.dtype(ml_dtypes.float8_e8m0fnu),
    25: np.dtype(ml_dtypes.uint2),
    26: np.dtype(ml_dtypes.int2),
    27: np.dtype(ml_dtypes.float6_e2m3fn),
    28: np.dtype(ml_dtypes.float6_e3m2fn),
}

IEEE_FLOATS = frozenset(_BY_CODE[code] for code in (1, 10, 11, 16))
"""The floating-point types with infinities: float32, float16, float64, bfloat16."""
FLOAT8 = frozenset(_BY_CODE[code] for code in (17, 18, 19, 20))
"""The float8 types with a sign."""
FLOAT8_E8M0 = _BY_CODE[24]
FLOAT4 = _BY_CODE[23]
FLOAT6 = frozenset(_BY_CODE[code] for code in (27, 28))

_SMALL_INTEGERS = {_BY_CODE[21]: (0, 15), _BY_CODE[22]: (-8, 7), _BY_CODE[25]: (0, 3), _BY_CODE[26]: (-2, 1)}
_SMALL_BITS = {_BY_CODE[code]: width for code, width in ((21, 4), (22, 4), (23, 4), (25, 2), (26, 2), (27, 6), (28, 6))}


def dtype_of_code(n: HostNode, code: int, attribute: str) -> np.dtype:
    """The NumPy type of the ``TensorProto.DataType`` number in the named attribute."""
    dtype = _BY_CODE.get(int(code))
    if dtype is None:
        raise n.error(f"attribute {attribute!r} is {code}, expected a TensorProto.DataType from 1 to {max(_BY_CODE)}")
    return dtype


def is_string(dtype: np.dtype) -> bool:
    """Whether the arrays of this type hold strings."""
    return dtype == STRING


def is_integer(dtype: np.dtype) -> bool:
    """Whether the type is a signed or unsigned integer of any width (bool is not)."""
    return dtype.kind in "iu" or dtype in _SMALL_INTEGERS


def is_float(dtype: np.dtype) -> bool:
    """Whether the type is a real floating-point type of any width."""
    return dtype in IEEE_FLOATS or dtype in FLOAT8 or dtype in FLOAT6 or dtype in (FLOAT4, FLOAT8_E8M0)


def sortable(x: np.ndarray) -> np.ndarray:
    """``x`` with its order, in a type that NumPy sorts fast and with NaNs last: ml_dtypes' types as float32 or int8."""
    if x.dtype.isbuiltin == 1:
        return x
    return x.astype(np.int8) if is_integer(x.dtype) else x.astype(np.float32)


def integer_range(dtype: np.dtype) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    if dtype in _SMALL_INTEGERS:
        return _SMALL_INTEGERS[dtype]
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def bits(dtype: np.dtype) -> int:
    """How many bits an element has in ONNX (2, 4 and 6 for the types that fill only a part of a byte)."""
    return _SMALL_BITS.get(dtype, dtype.itemsize * 8)


def type_name(dtype: np.dtype) -> str:
    """The type's name in messages."""
    return "string" if is_string(dtype) else str(dtype)


def string_array(values: list[str], shape: tuple[int, ...]) -> np.ndarray:
    """The object array of ``shape`` that holds ``values`` in row-major order."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result.reshape(shape)
