"""Tensors of torch as NumPy arrays and back, in the same memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["as_array", "as_tensor", "dtype_of", "is_tensor"]

_BITS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""Data types that torch gives NumPy by their bits only."""


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of torch, which is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def dtype_of(dtype: Any) -> str:
    """The name of one of torch's data types, as ONNX and NumPy have it."""
    return str(dtype).removeprefix("torch.")


def as_array(tensor: Any) -> np.ndarray:
    """The array that shares a tensor's memory (a copy where the tensor is not on the CPU, or conjugated)."""
    import torch

    plain = tensor.detach().resolve_conj().resolve_neg().cpu()
    name = dtype_of(plain.dtype)
    if name not in _BITS:
        return np.asarray(plain.numpy())
    import ml_dtypes

    bits = plain.contiguous().view(getattr(torch, _BITS[name])).numpy()
    return np.asarray(bits.view(getattr(ml_dtypes, name)))


def as_tensor(array: np.ndarray) -> Any:
    """The tensor that shares an array's memory."""
    import torch

    array = np.asarray(array)
    if array.dtype.name in _BITS:
        bits = torch.from_numpy(array.view(_BITS[array.dtype.name]))
        return bits.view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)
