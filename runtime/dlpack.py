"""Arrays by DLPack of the data types that NumPy's own importer does not know: bfloat16 and the floats of 8 bits.

The structures are those of https://dmlc.github.io/dlpack/latest/c_api.html, version 0 and the types of version 1.1.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = ["from_dlpack"]

_HOST = (1, 3)  # kDLCPU, kDLCUDAHost
_TYPES = {
    (4, 16): "bfloat16",
    (7, 8): "float8_e3m4",
    (8, 8): "float8_e4m3",
    (9, 8): "float8_e4m3b11fnuz",
    (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz",
    (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
    (14, 8): "float8_e8m0fnu",
}
"""Names of ml_dtypes by DLPack's code and bits."""


class _Tensor(ctypes.Structure):
    """DLTensor, with which a DLManagedTensor begins."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Exported:
    """Memory of another library, which the capsule keeps: nobody takes it out, so its own destructor frees it."""

    def __init__(self, capsule: Any, interface: dict[str, Any]) -> None:
        self._capsule = capsule
        self.__array_interface__ = interface


def from_dlpack(value: Any) -> np.ndarray | None:
    """The array that ``value`` offers by DLPack, without a copy; None if it offers none of these data types.

    Raises what ``value`` raises, and BufferError for memory of another device.
    """
    export = getattr(value, "__dlpack__", None)
    if export is None:
        return None
    capsule = export()
    pointer = _pointer(capsule)
    if pointer is None:
        return None
    tensor = _Tensor.from_address(pointer)
    name = _TYPES.get((tensor.code, tensor.bits))
    if name is None or tensor.lanes != 1:
        return None
    if tensor.device_type not in _HOST:
        raise BufferError(f"its memory is on a device of DLPack's type {tensor.device_type}, expected the CPU's")
    return _view(capsule, tensor, name)


def _view(capsule: Any, tensor: _Tensor, name: str) -> np.ndarray:
    import ml_dtypes

    dtype = np.dtype(getattr(ml_dtypes, name))
    shape = tuple(tensor.shape[: tensor.rank])
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = tuple(step * dtype.itemsize for step in tensor.strides[: tensor.rank]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    words = np.dtype(f"u{dtype.itemsize}")
    interface = {"version": 3, "data": (address, False), "shape": shape, "strides": strides, "typestr": words.str}
    return np.asarray(_Exported(capsule, interface)).view(dtype)


def _pointer(capsule: Any) -> int | None:
    """The DLManagedTensor in a capsule; None if it holds something else."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    if not api.PyCapsule_IsValid(capsule, b"dltensor"):
        return None
    pointer: int | None = api.PyCapsule_GetPointer(capsule, b"dltensor")
    return pointer
