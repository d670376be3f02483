"""Tensor types: a data type's name and a shape whose dimensions may be symbolic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from .dims import Dim, Shape, known, product

FLOATS = frozenset({"float32", "float16"})
SIGNED = frozenset({"int64", "int32", "int8"})
INTS = frozenset({"int64", "uint64", "int32", "uint32", "int8", "uint8"})
ANY = FLOATS | INTS
INT4 = frozenset({"int4", "uint4"})
WEBNN_TYPES = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")
"""The members of MLOperandDataType, in the standard's order."""

_ML_DTYPES = frozenset(
    {"bfloat16", "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}
)
_NUMPY = frozenset(WEBNN_TYPES) | {"float64", "int16", "uint16", "bool", "complex64", "complex128"}


_RELATED = {"float32": {"float64", "bfloat16"}, "int32": {"int16"}, "uint32": {"uint16"}}


@cache
def widened(dtypes: frozenset[str]) -> frozenset[str]:
    """Allowed data types and those of other formats that are like them: what ONNX graphs may use beyond the standard.

    Where every data type of the standard is allowed every data type is; truth values (uint8 alone) may be bool.
    """
    if dtypes >= ANY:
        return dtypes | _NUMPY | _ML_DTYPES
    if dtypes == {"uint8"}:
        return dtypes | {"bool"}
    return dtypes.union(*(_RELATED.get(d, ()) for d in dtypes))


@dataclass(frozen=True, slots=True)
class TensorType:
    """The data type and shape of a value; ``str()`` gives ``float32[1, 3, h, w]``."""

    dtype: str
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """The number of elements."""
        return product(self.shape)

    @property
    def is_static(self) -> bool:
        return known(*self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor held unpacked, one element after another (int4 takes a byte an element)."""
        size = self.size
        if not isinstance(size, int):
            raise TypeError(f"{self} has no size yet: its shape is symbolic")
        return size * numpy_dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@cache
def numpy_dtype(name: str) -> np.dtype:
    """The NumPy (or ml_dtypes) data type of a data type's name; KeyError for a name that is none."""
    if name in _NUMPY:
        return np.dtype(name)
    if name in _ML_DTYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    raise KeyError(name)


@cache
def dtype_name(dtype: np.dtype) -> str:
    """The data type's name of a NumPy data type; KeyError for one that tensors can't have."""
    name = dtype.name
    if name in _NUMPY or name in _ML_DTYPES:
        return name
    raise KeyError(name)


def is_float(dtype: str) -> bool:
    """Whether a data type is a floating-point one."""
    return dtype.startswith(("float", "bfloat"))


@cache
def integer_bounds(dtype: str) -> tuple[int, int]:
    """The smallest and largest value of an integer data type, and of bool."""
    if dtype == "bool":
        return 0, 1
    unsigned = dtype.startswith("u")
    bits = int(dtype[len("uint") if unsigned else len("int") :])
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
