"""GatherBlockQuantized: rows of a table whose elements are stored in 2, 4 or 8 bits, in blocks that share a scale."""

from __future__ import annotations

import numpy as np

from ...errors import OnHostError
from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert
from .packed_weights import unpacked


@onnx_op("GatherBlockQuantized", 1, domain=MICROSOFT)
def gather_block_quantized(n: NodeContext) -> Tensor:
    table, zero, scale, indices = _codes(n), _zero_points(n), n.tensor(2), n.tensor(1)
    if table.dtype not in ("int4", "uint4", "uint8", "uint2"):
        raise OnHostError
    axis = n.axis(n.attr("gather_axis"), table.rank, "gather_axis")
    blocks = n.axis(n.attr("quantize_axis"), table.rank, "quantize_axis")
    size = n.attr("block_size")
    if axis == blocks:
        whole = n.call("DequantizeLinear", table, scale, zero, version=21, axis=blocks, block_size=size)
        y = n.emit("gather", whole, indices, axis=axis)
    else:
        rows = [None if t is None else n.emit("gather", t, indices, axis=axis) for t in (table, scale, zero)]
        along = blocks + (indices.rank - 1 if blocks > axis else 0)
        y = n.call("DequantizeLinear", *rows, version=21, axis=along, block_size=size)
    return _outside_zero(n, y, indices, table.shape[axis], axis)


def _codes(n: NodeContext) -> Tensor:
    """The table with an element for each number."""
    table = n.tensor(0)
    bits = n.attr("bits")
    if table.dtype != "uint8" or bits == 8:
        return table
    packed = n.array(0)
    return n.constant(unpacked(packed, bits, packed.shape[-1] * 8 // bits), f"uint{bits}")


def _zero_points(n: NodeContext) -> Tensor | None:
    bits, scale = n.attr("bits"), n.tensor(2)
    if n.tensor(0).dtype != "uint8":
        return n.optional(3)
    dtype = f"uint{bits}"
    if not n.given(3):
        return n.constant(np.full(n.static(*scale.shape), 1 << (bits - 1)), dtype)
    if bits == 8:
        return n.tensor(3)
    (count,) = n.static(scale.shape[-1])
    return n.constant(unpacked(n.array(3), bits, count), dtype)


def _outside_zero(n: NodeContext, y: Tensor, indices: Tensor, size: object, axis: int) -> Tensor:
    """Zeros for indices that the table does not have."""
    (count,) = n.static(size)  # type: ignore[arg-type]
    places = convert(n, indices, "int64")
    inside = n.emit(
        "logical_and",
        n.emit("greater_or_equal", places, n.scalar(-count, "int64"), dtype="bool"),
        n.emit("lesser", places, n.scalar(count, "int64"), dtype="bool"),
        dtype="bool",
    )
    shape = (*[1] * axis, *indices.shape, *[1] * (y.rank - axis - indices.rank))
    return n.emit("where", n.reshape(inside, shape), y, n.scalar(0, y))
