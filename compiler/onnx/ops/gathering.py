"""Operators that pick elements by index: Gather, GatherElements, GatherND, ReverseSequence."""

from __future__ import annotations

from basalt.ops.dims import product
from basalt.ops.shapes import same_dim, text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .positions import check_known, coordinates, counting_along, wide_indices


@onnx_op("Gather", 1, 11, 13)
def gather(n: NodeContext) -> Tensor:
    x, indices = n.tensor(0), n.tensor(1)
    axis = n.axis(n.attr("axis"), x.rank)
    check_known(n, indices, x.shape[axis : axis + 1])
    return n.emit("gather", x, indices, axis=axis)


@onnx_op("GatherElements", 11, 13)
def gather_elements(n: NodeContext) -> Tensor:
    x, indices = n.tensor(0), n.tensor(1)
    axis = n.axis(n.attr("axis"), x.rank)
    if indices.rank != x.rank:
        raise n.error(f"indices has shape {text(indices.shape)}, expected rank {x.rank}")
    read = [d if i == axis else e for i, (d, e) in enumerate(zip(x.shape, indices.shape))]
    if tuple(read) != tuple(x.shape):
        # Fewer indices than elements on another axis leave the last ones unread.
        x = n.emit("slice", x, starts=(0,) * x.rank, sizes=tuple(read), strides=(1,) * x.rank)
    check_known(n, indices, x.shape[axis : axis + 1])
    return n.emit("gather_elements", x, indices, axis=axis)


@onnx_op("GatherND", 11, 12, 13)
def gather_nd(n: NodeContext) -> Tensor:
    x, indices = n.tensor(0), n.tensor(1)
    batch = n.attr("batch_dims", 0)
    check_known(n, indices, x.shape[batch:])
    if not batch:
        return n.emit("gather_nd", x, indices)
    common = tuple(x.shape[:batch])
    if not 0 < batch < min(x.rank, indices.rank) or not all(map(same_dim, common, indices.shape)):
        raise n.error(f"batch_dims is {batch}, expected common leading axes of {x} and {indices}")
    rows = product(common)
    data = n.reshape(x, (rows, *x.shape[batch:]))
    within = wide_indices(n, n.reshape(indices, (rows, *indices.shape[batch:])))
    shape = (*within.shape[:-1], 1)
    row = n.expand(counting_along(n, rows, 0, len(shape)), shape)
    picked = n.emit("gather_nd", data, n.emit("concat", row, within, axis=len(shape) - 1))
    return n.reshape(picked, (*common, *picked.shape[1:]))


@onnx_op("ReverseSequence", 10, 28)
def reverse_sequence(n: NodeContext) -> Tensor:
    x, lengths = n.tensor(0), n.tensor(1)
    batch, time = n.attr("batch_axis"), n.attr("time_axis")
    if {batch, time} != {0, 1} or x.rank < 2:
        raise n.error(
            f"batch_axis and time_axis are {batch} and {time}, expected 0 and 1 of a tensor of rank 2 or more"
        )
    if lengths.rank != 1 or not same_dim(lengths.shape[0], x.shape[batch]):
        raise n.error(f"sequence_lens has shape {text(lengths.shape)}, expected {text([x.shape[batch]])}")
    step = counting_along(n, x.shape[time], time, 2)
    length = n.reshape(lengths, [lengths.shape[0] if i == batch else 1 for i in range(2)])
    mirrored = n.emit("sub", n.emit("sub", length, n.scalar(1, length)), step)
    place = n.emit("where", n.emit("lesser", step, length, dtype="bool"), mirrored, step)
    parts = {time: place, batch: counting_along(n, x.shape[batch], batch, 2)}
    return n.emit("gather_nd", x, coordinates(n, [parts[0], parts[1]], x.shape[:2]))
