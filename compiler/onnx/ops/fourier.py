"""Discrete Fourier transforms: the core's operator, or for short signals products with cosines and sines."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..node import NodeContext
from ..tensor import Tensor
from .building import last_axis_product

__all__ = ["half_inverse", "transform"]

SHORT = 64
"""The longest real signal whose transform is a product, which then takes no longer."""


def transform(n: NodeContext, x: Tensor, length: int, onesided: bool, inverse: bool) -> Tensor:
    """The transform along the last axis but one.

    Args:
        n: the node.
        x: ``[..., signal, 1 or 2]`` in float32 or float64: real numbers, or real and imaginary parts.
            Of a signal longer than ``length`` the first elements count, a shorter one goes on with zeros.
        length: the transform's length.
        onesided: whether only the first ``length // 2 + 1`` results are wanted; not of an inverse.
        inverse: whether it is the inverse, which divides by the length.

    Returns:
        ``[..., length, 2]``, or ``[..., length // 2 + 1, 2]``.
    """
    rows, parts = n.static(*x.shape[-2:])
    columns = length // 2 + 1 if onesided else length
    if parts == 1 and length <= SHORT:
        if rows > length:
            x = n.slice(x, x.rank - 2, 0, length)
        used = min(rows, length)
        matrix = n.constant(_matrix(length, used, columns, inverse), x.dtype)
        flat = n.reshape(x, (*x.shape[:-2], used))
        return n.reshape(last_axis_product(n, flat, matrix), (*x.shape[:-2], columns, 2))
    return n.emit("dft", x, length=length, inverse=inverse, onesided=onesided)


def half_inverse(n: NodeContext, x: Tensor, length: int) -> Tensor:
    """The real signal ``[..., length, 1]`` whose transform begins with ``x``, ``[..., bins, 1 or 2]``.

    Bins beyond the middle are ignored, missing ones are zero, and so are the imaginary parts of the first and, if the
    length is even, of the middle one.
    """
    return n.emit("dft", x, length=length, inverse=True, onesided=True)


@lru_cache(maxsize=32)
def _matrix(length: int, rows: int, columns: int, inverse: bool) -> np.ndarray:
    """cos and sin of the angles that element ``i`` is turned by in result ``k``, [rows, columns * 2]."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % length
    angles = (2 if inverse else -2) * np.pi * turns / length
    return np.stack([np.cos(angles), np.sin(angles)], -1).reshape(rows, 2 * columns) / (length if inverse else 1)
