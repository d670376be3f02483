"""Reading and writing by index. ONNX leaves open what an index outside does; the core moves it to the nearest end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import Dim, known

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor


@exports("gather")
def gather(n: NodeWriter) -> Tensor:
    return n.call("Gather", n["input"], clipped(n), axis=n.attrs["axis"])


@exports("gather_elements")
def gather_elements(n: NodeWriter) -> Tensor:
    return n.call("GatherElements", n["input"], clipped(n), axis=n.attrs["axis"])


@exports("scatter_elements")
def scatter_elements(n: NodeWriter) -> Tensor:
    return n.call("ScatterElements", n["input"], clipped(n), n["updates"], axis=n.attrs["axis"])


@exports("gather_nd")
def gather_nd(n: NodeWriter) -> Tensor:
    return n.call("GatherND", n["input"], clipped_coordinates(n))


@exports("scatter_nd")
def scatter_nd(n: NodeWriter) -> Tensor:
    return n.call("ScatterND", n["input"], clipped_coordinates(n), n["updates"])


def clipped(n: NodeWriter) -> Tensor:
    """The indices along one axis, each from -size to size - 1."""
    indices, size = n["indices"], n.type("input").shape[n.attrs["axis"]]
    if indices.dtype == "uint32":
        indices = n.cast(indices, "int64")
    if indices.array is not None and isinstance(size, int):
        return _inside(n, indices, np.asarray(size))
    if isinstance(size, int):
        low, high = n.scalar(-size, indices.dtype), n.scalar(size - 1, indices.dtype)
    else:
        low, high = (n.cast(n.reshape(bound, ()), indices.dtype) for bound in _bounds(n, (size,)))
    return n.call("Clip", indices, low, high)


def clipped_coordinates(n: NodeWriter) -> Tensor:
    indices = n.cast(n["indices"], "int64")
    depth = n.type("indices").shape[-1]
    assert isinstance(depth, int)
    shape = n.type("input").shape[:depth]
    if indices.array is not None and known(*shape):
        return _inside(n, indices, np.asarray(shape))
    low, high = _bounds(n, shape)
    return n.call("Min", n.call("Max", indices, low), high)


def _inside(n: NodeWriter, indices: Tensor, size: np.ndarray) -> Tensor:
    """Constant indices, replaced only where one lies outside; ``size`` of one dimension, or of each coordinate's."""
    assert indices.array is not None
    clipped = np.clip(indices.array, -size, size - 1)
    if np.array_equal(clipped, indices.array):
        return indices
    return n.constant(clipped.astype(indices.array.dtype))


def _bounds(n: NodeWriter, shape: Sequence[Dim]) -> tuple[Tensor, Tensor]:
    sizes = n.sizes(shape)
    return n.call("Neg", sizes), n.call("Sub", sizes, n.scalar(1, "int64"))
