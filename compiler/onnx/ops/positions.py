"""Indices as tensors: counting, sizes as data, negative indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import Dim
from basalt.ops.dims import MAX_ELEMENTS, product
from basalt.ops.shapes import text

from ..node import NodeContext
from ..tensor import Tensor, of_elements

MOST_COUNTED = 1 << 16
"""Numbers up to which counting is a constant; more are counted at run time, so that no file makes a large constant."""


def require_room(n: NodeContext, shape: Sequence[Dim]) -> None:
    """Refuse a result that no tensor can hold, before tables of its size are computed."""
    count = product(shape)
    if isinstance(count, int) and not 0 <= count <= MAX_ELEMENTS:
        raise n.error(f"the result would be of shape {text(shape)}, expected 0 to {MAX_ELEMENTS} elements")


def size_tensor(size: Dim, dtype: str = "int64") -> Tensor:
    """A size as data, of shape ()."""
    held: Any = np.empty((), object)
    held[()] = size
    return of_elements(dtype, held)


def size_vector(sizes: Sequence[Dim]) -> Tensor:
    """Sizes as data, int64[len(sizes)]."""
    held: Any = np.empty(len(sizes), object)
    held[:] = sizes
    return of_elements("int64", held)


def counting(n: NodeContext, size: Dim) -> Tensor:
    """The numbers from 0 to ``size - 1``, int64[size]."""
    if isinstance(size, int) and size <= MOST_COUNTED:
        return n.constant(np.arange(size, dtype=np.int64))
    ones = n.expand(n.constant(np.ones(1, np.int64)), (size,))
    return n.emit("cumulative_sum", ones, axis=0, exclusive=True)


def counting_along(n: NodeContext, size: Dim, axis: int, rank: int) -> Tensor:
    """:func:`counting` along one axis of a rank; its other sizes are 1."""
    return n.reshape(counting(n, size), [size if i == axis else 1 for i in range(rank)])


def wide_indices(n: NodeContext, indices: Tensor) -> Tensor:
    """Indices in int64."""
    return indices if indices.dtype == "int64" else n.emit("cast", indices, data_type="int64")


def check_known(n: NodeContext, indices: Tensor, sizes: Sequence[Dim]) -> None:
    """Refuse indices that are known and outside: into one axis, or coordinates in the first of several axes."""
    if indices.array is None or not indices.array.size:
        return
    columns = indices.array.reshape(-1, 1 if len(sizes) == 1 else indices.array.shape[-1])
    for size, low, high in zip(sizes, columns.min(axis=0), columns.max(axis=0)):
        if isinstance(size, int) and not -size <= low <= high < size:
            raise n.error(f"indices are {low} to {high}, expected {-size} to {size - 1}")


def coordinates(n: NodeContext, parts: Sequence[Tensor], shape: Sequence[Dim]) -> Tensor:
    """Coordinates [*shape, len(parts)] whose components are broadcast to a shape."""
    columns = [n.reshape(n.expand(p, shape), (*shape, 1)) for p in parts]
    return columns[0] if len(columns) == 1 else n.emit("concat", *columns, axis=len(shape))
