"""Shapes: views, permutations, slices, joining, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import Dim, SymDim
from basalt.ops.dims import product

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten
from .creation import positions

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@aten("view.default", "reshape.default", "_unsafe_view.default", "view_copy.default", "_reshape_copy.default")
@aten("unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "flatten.using_ints", "unflatten.int")
def reshaped(n: AtenContext, x: Tensor, *args: Any) -> Tensor:
    return n.shaped(x)


@aten("expand.default", "expand_as.default", "broadcast_to.default")
def expand(n: AtenContext, x: Tensor, *args: Any, implicit: bool = False) -> Tensor:
    return n.expand(x, n.shape)


@aten("permute.default")
def permute(n: AtenContext, x: Tensor, dims: Sequence[int]) -> Tensor:
    return n.transpose(x, [n.dim(d, x.rank) for d in dims])


@aten("transpose.int")
def transpose(n: AtenContext, x: Tensor, a: int, b: int) -> Tensor:
    order = list(range(x.rank))
    if x.rank:
        a, b = n.dim(a, x.rank), n.dim(b, x.rank)
        order[a], order[b] = b, a
    return n.transpose(x, order)


@aten("t.default", "numpy_T.default")
def matrix_transpose(n: AtenContext, x: Tensor) -> Tensor:
    return n.transpose(x, tuple(reversed(range(x.rank))))


@aten("select.int")
def select(n: AtenContext, x: Tensor, dim: int, index: Dim) -> Tensor:
    axis = n.dim(dim, x.rank)
    start = index + x.shape[axis] if isinstance(index, int) and index < 0 else index
    return n.shaped(n.slice(x, axis, start, 1))


@aten("slice.Tensor")
def slice_tensor(n: AtenContext, x: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    axis = n.dim(dim, x.rank)
    size = x.shape[axis]
    count = n.shape[axis]
    begin = 0 if start is None else start
    if isinstance(begin, int) and begin < 0:
        begin = max(begin + size, 0) if isinstance(size, int) else begin + size
    if isinstance(begin, int) and isinstance(size, int):
        begin = min(begin, size)
    if begin == 0 and count == size and step == 1:
        return x
    # The core counts the places that a slice covers, not those that it takes.
    covered = count if step == 1 else (count - 1) * step + 1
    if count == 0:
        return n.slice(x, axis, 0, 0)
    return n.slice(x, axis, begin, covered, step)


@aten("narrow.default")
def narrow(n: AtenContext, x: Tensor, dim: int, start: Dim, length: Dim) -> Tensor:
    return n.slice(x, n.dim(dim, x.rank), start, length)


@aten("split_with_sizes.default", "split_with_sizes_copy.default")
def split_with_sizes(n: AtenContext, x: Tensor, sizes: Sequence[Dim], dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_parts(n, x, sizes, n.dim(dim, x.rank)))


@aten("split.Tensor", "chunk.default")
def split(n: AtenContext, x: Tensor, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    from ..sizes import dim_of

    axis = n.dim(dim, x.rank)
    sizes = [dim_of(part.shape[axis], n.names) for part in n.node.meta["val"]]
    return tuple(_parts(n, x, sizes, axis))


def _parts(n: AtenContext, x: Tensor, sizes: Sequence[Dim], axis: int) -> list[Tensor]:
    if not any(isinstance(size, SymDim) or size == 0 for size in sizes):
        return list(n.emit_all("split", x, splits=tuple(sizes), axis=axis))
    parts: list[Tensor] = []
    start: Dim = 0
    for size in sizes:
        parts.append(n.slice(x, axis, start, size))
        start = start + size
    return parts


@aten("unbind.int")
def unbind(n: AtenContext, x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    axis = n.dim(dim, x.rank)
    (count,) = n.static(x.shape[axis])
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return tuple(n.reshape(n.slice(x, axis, i, 1), shape) for i in range(count))


@aten("cat.default", "concat.default")
def cat(n: AtenContext, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    # Torch skips empty vectors whatever the rank of the others.
    given = [n.cast(t, n.dtype) for t in tensors if not (t.shape == (0,) and len(n.shape) != 1)]
    if len(given) == 1:
        return given[0]
    return n.emit("concat", *given, axis=n.dim(dim, len(n.shape)))


@aten("stack.default")
def stack(n: AtenContext, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    axis = n.dim(dim, len(n.shape))
    shape = tuple(1 if i == axis else d for i, d in enumerate(n.shape))
    parts = [n.reshape(n.cast(t, n.dtype), shape) for t in tensors]
    return parts[0] if len(parts) == 1 else n.emit("concat", *parts, axis=axis)


@aten("repeat.default", "tile.default")
def repeat(n: AtenContext, x: Tensor, repeats: Sequence[Dim]) -> Tensor:
    rank = max(len(repeats), x.rank)
    x = n.reshape(x, (*[1] * (rank - x.rank), *x.shape))
    counts = (*[1] * (rank - len(repeats)), *repeats)
    return n.call("Tile", x, n.size_tensor(counts))


@aten("flip.default")
def flip(n: AtenContext, x: Tensor, dims: Sequence[int]) -> Tensor:
    return n.emit("reverse", x, axes=tuple(n.dim(d, x.rank) for d in dims)) if dims else x


@aten("roll.default")
def roll(n: AtenContext, x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    if not dims:
        return n.shaped(roll(n, n.reshape(x, (product(x.shape),)), shifts, (0,)))
    for shift, dim in zip(shifts, dims):
        axis = n.dim(dim, x.rank)
        size = x.shape[axis]
        if shift and isinstance(size, SymDim):
            # Shifts beyond a size that is not known start over.
            places = n.emit("mod", positions(n, size, -shift), n.size_tensor((size,), ()))
            x = n.emit("gather", x, places, axis=axis)
            continue
        start = (size - shift) % size if size else 0
        if start:
            x = n.emit("concat", n.slice(x, axis, start, size - start), n.slice(x, axis, 0, start), axis=axis)
    return x


@aten("pad.default")
def pad(n: AtenContext, x: Tensor, padding: Sequence[Dim], mode: str = "constant", value: Any = None) -> Tensor:
    """``padding`` has the beginning and end of the last axis first."""
    count = len(padding) // 2
    begins = [0] * (x.rank - count) + [padding[2 * i] for i in reversed(range(count))]
    ends = [0] * (x.rank - count) + [padding[2 * i + 1] for i in reversed(range(count))]
    pads = n.size_tensor([*begins, *ends])
    fill = n.tensor_of(value or 0, x.dtype) if mode == "constant" else None
    return n.call("Pad", x, pads, fill, mode=_PAD_MODES[mode])


@aten("constant_pad_nd.default")
def constant_pad(n: AtenContext, x: Tensor, padding: Sequence[Dim], value: Any = 0) -> Tensor:
    return pad(n, x, padding, "constant", value)


@aten("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def reflection_pad(n: AtenContext, x: Tensor, padding: Sequence[Dim]) -> Tensor:
    return pad(n, x, padding, "reflect")


@aten("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def replication_pad(n: AtenContext, x: Tensor, padding: Sequence[Dim]) -> Tensor:
    return pad(n, x, padding, "replicate")


def _triangle(n: AtenContext, x: Tensor, diagonal: int, upper: int) -> Tensor:
    return n.call("Trilu", x, n.constant(diagonal, "int64"), upper=upper)


@aten("tril.default")
def tril(n: AtenContext, x: Tensor, diagonal: int = 0) -> Tensor:
    return _triangle(n, x, diagonal, 0)


@aten("triu.default")
def triu(n: AtenContext, x: Tensor, diagonal: int = 0) -> Tensor:
    return _triangle(n, x, diagonal, 1)


@aten("as_strided.default", "as_strided_copy.default")
def as_strided(n: AtenContext, x: Tensor, size: Sequence[int], stride: Sequence[int], offset: Any = None) -> Tensor:
    """Elements by their place in memory, where the operand's own are in the order of its axes."""
    given = n.node.args[0].meta["val"]
    if not given.is_contiguous() or given.storage_offset():
        raise n.unsupported("strides over a tensor whose elements are in another order")
    sizes, strides = n.static(*size), n.static(*stride)
    places = np.full((), offset or 0, np.int64)
    for count, step in zip(sizes, strides):
        places = places[..., None] + np.arange(count) * step
    return n.emit("gather", n.reshape(x, (product(x.shape),)), n.constant(places), axis=0)


@aten("copy.default")
def copy(n: AtenContext, x: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    return n.expand(n.cast(source, x.dtype), x.shape)
