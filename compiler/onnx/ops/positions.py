"""Indices as tensors: counting, sizes as data, negative indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import Dim

from ..node import NodeContext
from ..tensor import Tensor, of_elements


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
    if isinstance(size, int):
        return n.constant(np.arange(size, dtype=np.int64))
    ones = n.expand(n.constant(np.ones(1, np.int64)), (size,))
    return n.emit("cumulative_sum", ones, axis=0, exclusive=True)


def counting_along(n: NodeContext, size: Dim, axis: int, rank: int) -> Tensor:
    """:func:`counting` along one axis of a rank; its other sizes are 1."""
    return n.reshape(counting(n, size), [size if i == axis else 1 for i in range(rank)])


def wide_indices(n: NodeContext, indices: Tensor) -> Tensor:
    """Indices in int64."""
    return indices if indices.dtype == "int64" else n.emit("cast", indices, data_type="int64")


def coordinates(n: NodeContext, parts: Sequence[Tensor], shape: Sequence[Dim]) -> Tensor:
    """Coordinates [*shape, len(parts)] whose components are broadcast to a shape."""
    columns = [n.reshape(n.expand(p, shape), (*shape, 1)) for p in parts]
    return columns[0] if len(columns) == 1 else n.emit("concat", *columns, axis=len(shape))
