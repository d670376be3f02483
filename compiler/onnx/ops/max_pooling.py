"""MaxPool with the positions of the maxima, and MaxUnpool, which puts maxima back in their places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from basalt.ops import Dim, Shape
from basalt.ops.dims import product

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .convolution import planar, spatial_sizes
from .pooling import Rounded, pool, pool_windows, rounding_of
from .windows import POINT, attribute_per_axis, pad_pairs


@onnx_op("MaxPool", 1, 8, 10, 11, 12, 22)
def max_pool(n: NodeContext) -> Tensor | tuple[Tensor, ...]:
    x = n.tensor(0)
    windows = pool_windows(n, spatial_sizes(n, x))
    if not n.wants(1):
        return pool(n, "max_pool2d", x, windows)
    by_columns = bool(n.attr("storage_order", 0))
    if len(windows) <= 2:
        return _with_indices(n, x, windows, by_columns)
    values, indices = _along_all(n, x, windows)
    return values, _by_columns(n, indices, x.shape) if by_columns else indices


def _with_indices(n: NodeContext, x: Tensor, windows: Sequence[Rounded], by_columns: bool) -> tuple[Tensor, Tensor]:
    """The maxima along one or two axes and their flat indices in the input."""
    row = len(windows) == 1
    if row:
        x, windows = n.reshape(x, (*x.shape[:2], 1, x.shape[2])), [(POINT, False), *windows]
    values, indices = n.emit_all(
        "max_pool_indices",
        x,
        window_dimensions=tuple(w.length for w, _ in windows),
        output_shape_rounding=rounding_of(n, windows, x.shape[2:]),
        column_major=by_columns and not row,
        **planar([w for w, _ in windows]),
    )
    if not row:
        return values, indices
    shape = (*values.shape[:2], values.shape[3])
    return n.reshape(values, shape), n.reshape(indices, shape)


def _along_all(n: NodeContext, x: Tensor, windows: Sequence[Rounded]) -> tuple[Tensor, Tensor]:
    """The maxima along three and more axes: of the last two, then of those maxima along one axis after another.

    An index among the maxima of the step before leads to theirs. The first of equals stays the first.
    """
    dims: list[Dim] = list(x.shape)
    image = n.reshape(x, (dims[0], product(dims[1:-2]), *dims[-2:]))
    values, indices = _with_indices(n, image, windows[-2:], by_columns=False)
    dims[-2:] = values.shape[-2:]
    for axis in reversed(range(len(windows) - 2)):
        lines = (dims[0], product(dims[1 : axis + 2]), dims[axis + 2], product(dims[axis + 3 :]))
        earlier = n.reshape(indices, (product(dims),))
        values, places = _with_indices(n, n.reshape(values, lines), [windows[axis], (POINT, False)], by_columns=False)
        indices = n.emit("gather", earlier, places, axis=0)
        dims[axis + 2] = values.shape[2]
    return n.reshape(values, dims), n.reshape(indices, dims)


def _by_columns(n: NodeContext, indices: Tensor, shape: Shape) -> Tensor:
    """Flat indices that count the first spatial axis fastest, of such that count the last one fastest."""
    sizes = n.static(*shape[2:])
    image = n.scalar(int(np.prod(sizes)), indices)
    start = n.emit("mul", n.emit("div", indices, image), image)
    rest = n.emit("sub", indices, start)
    total = start
    for axis in reversed(range(len(sizes))):
        size = n.scalar(sizes[axis], indices)
        quotient = n.emit("div", rest, size)
        coordinate = n.emit("sub", rest, n.emit("mul", quotient, size))
        step = n.scalar(int(np.prod(sizes[:axis])), indices)
        total, rest = n.emit("add", total, n.emit("mul", coordinate, step)), quotient
    return total


@onnx_op("MaxUnpool", 9, 11, 22)
def max_unpool(n: NodeContext) -> Tensor:
    x, indices = n.tensor(0), n.tensor(1)
    sizes = spatial_sizes(n, x)
    rank = len(sizes)
    kernel = attribute_per_axis(n, "kernel_shape", rank, 1, 1)
    strides = attribute_per_axis(n, "strides", rank, 1, 1)
    inferred = tuple(
        (size - 1) * stride + length - begin - end
        for size, stride, length, (begin, end) in zip(sizes, strides, kernel, pad_pairs(n, rank))
    )
    if any(isinstance(size, int) and size < 0 for size in inferred):
        raise n.error(f"the output's spatial sizes would be {list(inferred)}")
    shape = (*x.shape[:2], *inferred)
    flat = n.expand(n.scalar(0, x), (product(shape),))
    count = (product(x.shape),)
    scattered = n.emit("scatter_elements", flat, n.reshape(indices, count), n.reshape(x, count), axis=0)
    y = n.reshape(scattered, shape)
    return y if not n.given(2) else _in_corner(n, y, n.ints(2))


def _in_corner(n: NodeContext, y: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor at the beginning of a larger one of zeros; what does not fit is cut."""
    if len(shape) != y.rank:
        raise n.error(f"output_shape has {len(shape)} values, expected {y.rank}")
    given = n.static(*y.shape)
    if any(s < 0 for s in shape):
        raise n.error(f"output_shape is {list(shape)}, expected sizes")
    kept = tuple(min(a, b) for a, b in zip(given, shape))
    if kept != given:
        y = n.emit("slice", y, starts=(0,) * y.rank, sizes=kept, strides=(1,) * y.rank)
    missing = [s - k for s, k in zip(shape, kept)]
    return n.emit("pad", y, beginning_padding=[0] * y.rank, ending_padding=missing) if any(missing) else y
