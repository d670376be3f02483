"""Tensors of torch as NumPy arrays and back, in the same memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["as_array", "as_tensor", "axis_order", "dtype_of", "is_tensor"]

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


def axis_order(tensor: Any) -> tuple[int, ...] | None:
    """The axes of a dense tensor from the one of the largest stride to that of the least; None for their own order.

    Sizes and strides may be symbolic, of which the example's values count.
    """
    sizes, strides = ([_example(d) for d in dims] for dims in (tensor.shape, tensor.stride()))
    axes = tuple(sorted(range(len(sizes)), key=lambda axis: (-strides[axis], axis)))
    moved = [axis for axis in axes if sizes[axis] > 1]
    return None if moved == sorted(moved) else axes


def _example(size: Any) -> int:
    return size if isinstance(size, int) else int(size.node.hint)


def as_tensor(array: np.ndarray) -> Any:
    """The tensor that shares an array's memory."""
    import torch

    array = np.asarray(array)
    if array.dtype.name in _BITS:
        bits = torch.from_numpy(array.view(_BITS[array.dtype.name]))
        return bits.view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)
