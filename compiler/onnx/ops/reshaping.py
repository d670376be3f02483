"""Operators that keep the elements in order: Reshape, Flatten, Squeeze, Unsqueeze; and Transpose."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.ops import Dim
from basalt.ops.dims import product

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .ranges import quotient


def _completed(n: NodeContext, x: Tensor, asked: Sequence[Dim], keep: bool) -> list[Dim]:
    """The shape that is asked for, with sizes in the place of 0 (if ``keep``) and -1."""
    shape = list(asked)
    for place, size in enumerate(asked):
        if isinstance(size, int) and size < -1:
            raise n.error(f"shape is {list(map(str, asked))}, expected sizes of at least -1")
        if keep and size == 0:
            if place >= x.rank:
                raise n.error(f"shape has 0 at place {place}, where the input of rank {x.rank} has no axis")
            shape[place] = x.shape[place]
    unknown = [place for place, size in enumerate(asked) if size == -1]
    if len(unknown) > 1 or (unknown and not keep and 0 in asked):
        raise n.error(f"shape is {list(map(str, asked))}, expected one -1 at most, and none beside a size of 0")
    for place in unknown:
        shape[place] = quotient(x.shape, shape[:place] + shape[place + 1 :])
    return shape


def _reshaped(n: NodeContext, x: Tensor, asked: Sequence[Dim], keep: bool = True) -> Tensor:
    shape = _completed(n, x, asked, keep)
    given, wanted = product(x.shape), product(shape)
    if isinstance(given, int) and isinstance(wanted, int) and given != wanted:
        raise n.error(f"shape is {list(map(str, asked))}, expected one of the input's {given} elements")
    return n.reshape(x, shape)


@onnx_op("Reshape", 1)
def reshape_1(n: NodeContext) -> Tensor:
    return _reshaped(n, n.tensor(0), n.attr("shape", ()))


@onnx_op("Reshape", 5, 13, 14, 19, 21, 23, 24, 25)
def reshape(n: NodeContext) -> Tensor:
    return _reshaped(n, n.tensor(0), n.dims(1), keep=n.version < 14 or not n.attr("allowzero"))


@onnx_op("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(n: NodeContext) -> Tensor:
    x, axis = n.tensor(0), n.attr("axis")
    if not -x.rank <= axis <= x.rank:
        raise n.error(f"axis is {axis}, expected {-x.rank} to {x.rank}")
    split = axis + x.rank if axis < 0 else axis
    return n.reshape(x, (product(x.shape[:split]), product(x.shape[split:])))


def _axes(n: NodeContext, rank: int, axes: Sequence[int]) -> set[int]:
    found = {n.axis(a, rank, "axes") for a in axes}
    if len(found) != len(axes):
        raise n.error(f"axes are {list(axes)}, expected each once")
    return found


@onnx_op("Squeeze", 1, 11, 13, 21, 23, 24, 25)
def squeeze(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    if n.version < 13:
        axes = n.attr("axes", None)
    else:
        axes = n.ints(1) if n.given(1) else None
    if axes is None:
        sizes = n.static(*x.shape)
        return n.reshape(x, [d for d in sizes if d != 1])
    dropped = _axes(n, x.rank, axes)
    for axis in dropped:
        size = x.shape[axis]
        if isinstance(size, int) and size != 1:
            raise n.error(f"axis {axis} has size {size}, expected 1")
    return n.reshape(x, [d for i, d in enumerate(x.shape) if i not in dropped])


@onnx_op("Unsqueeze", 1, 11, 13, 21, 23, 24, 25)
def unsqueeze(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    axes = n.attr("axes") if n.version < 13 else n.ints(1)
    added = _axes(n, x.rank + len(axes), axes)
    sizes = iter(x.shape)
    return n.reshape(x, [1 if i in added else next(sizes) for i in range(x.rank + len(axes))])


@onnx_op("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    order = n.attr("perm", None)
    if order is None:
        order = tuple(reversed(range(x.rank)))
    if sorted(order) != list(range(x.rank)):
        raise n.error(f"perm is {list(order)}, expected each axis of the input of rank {x.rank} once")
    return n.transpose(x, order)
