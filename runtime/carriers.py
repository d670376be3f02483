"""Data types of ONNX tensors that programs hold as others: by their bits, or by value."""

from __future__ import annotations

import numpy as np

from .dtypes import numpy_dtype

__all__ = ["CARRIERS", "carrier", "carrier_array", "logical_array", "onnx_dtype"]

CARRIERS = {
    "bool": "uint8",
    "int4": "int8",
    "int2": "int8",
    "uint4": "uint8",
    "uint2": "uint8",
    "float4_e2m1fn": "uint8",
    "float6_e2m3fn": "uint8",
    "float6_e3m2fn": "uint8",
    "float8_e4m3fn": "uint8",
    "float8_e4m3fnuz": "uint8",
    "float8_e5m2": "uint8",
    "float8_e5m2fnuz": "uint8",
    "float8_e8m0fnu": "uint8",
}
"""What holds a data type that programs do not take themselves."""
_CONVERTED = frozenset({"int4", "int2", "uint4", "uint2"})
"""Carried by value; the others of CARRIERS are carried by their bits."""


def carrier(dtype: str) -> str:
    """The data type by which programs hold tensors of an ONNX data type."""
    return CARRIERS.get(dtype, dtype)


def carrier_array(array: np.ndarray, dtype: str) -> np.ndarray:
    """An array of an ONNX data type as programs hold it; a view where bits are kept."""
    held = CARRIERS.get(dtype)
    if held is None:
        return array
    return array.astype(held) if dtype in _CONVERTED else array.view(held)


def logical_array(array: np.ndarray, dtype: str) -> np.ndarray:
    """What :func:`carrier_array` made of an array, turned back."""
    if dtype not in CARRIERS:
        return array
    target = onnx_dtype(dtype)
    return array.astype(target) if dtype in _CONVERTED else array.view(target)


def onnx_dtype(name: str) -> np.dtype:
    """The NumPy data type of an ONNX data type; strings are objects.

    Raises:
        ValidationError: for a name that is none.
    """
    if name == "string":
        return np.dtype(object)
    return numpy_dtype(name)
