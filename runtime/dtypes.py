"""Names of data types and the NumPy types that hold their elements."""

from __future__ import annotations

import functools

import numpy as np

from basalt.errors import ValidationError

__all__ = ["numpy_dtype"]

_NATIVE = frozenset(
    {
        "bool",
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
    }
)


@functools.cache
def numpy_dtype(name: str) -> np.dtype:
    """The NumPy type of the data type ``name``, in the machine's byte order.

    int4, uint4, bfloat16 and the float8 kinds come from ml_dtypes, imported only when one is asked for.
    Raises ValidationError for a name that no array type stands for.
    """
    if name in _NATIVE:
        return np.dtype(name)
    import ml_dtypes

    scalar = getattr(ml_dtypes, name, None)
    if not (isinstance(scalar, type) and issubclass(scalar, np.generic)):
        raise ValidationError(f"data type {name!r} is unknown")
    return np.dtype(scalar)
