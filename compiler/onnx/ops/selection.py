"""Triangles, one-hot vectors, unit matrices and the best elements: Trilu, OneHot, EyeLike, TopK."""

from __future__ import annotations

import numpy as np

from basalt.ops import Dim

from ..attributes import dtype_of_code
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor, carrier
from .positions import counting_along, size_tensor


def _only(n: NodeContext, place: int) -> int:
    """The only element of a tensor that holds a whole number."""
    values = n.array(place).reshape(-1)
    if values.size != 1:
        raise n.error(f"{n.input_name(place)} has {values.size} elements, expected one")
    return int(values[0])


@onnx_op("Trilu", 14)
def trilu(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    if x.rank < 2:
        raise n.error(f"input has shape {list(map(str, x.shape))}, expected rank 2 or more")
    diagonal = _only(n, 1) if n.given(1) else 0
    # No dimension reaches 2**31, so that diagonals beyond it are as far outside as any.
    limit = 2**31 - 1
    return n.emit("triangular", x, upper=bool(n.attr("upper")), diagonal=max(-limit, min(diagonal, limit)))


def _depth(n: NodeContext) -> Dim:
    depth = n.tensor(1)
    if "float" in depth.dtype or depth.array is not None:
        return _only(n, 1)
    (found,) = n.dims(1)
    return found


@onnx_op("OneHot", 9, 11, 28)
def one_hot(n: NodeContext) -> Tensor:
    indices, depth, values = n.tensor(0), _depth(n), n.tensor(2)
    if isinstance(depth, int) and depth < 0:
        raise n.error(f"depth is {depth}, expected no negative number")
    rank = indices.rank + 1
    axis = n.axis(n.attr("axis"), rank)
    # Unsigned indices are compared as such: the largest would be negative ones.
    dtype = "uint64" if indices.dtype.startswith("uint") else "int64"
    place = indices if indices.dtype == dtype else n.emit("cast", indices, data_type=dtype)
    place = n.reshape(place, (*indices.shape[:axis], 1, *indices.shape[axis:]))
    if dtype == "int64":
        negative = n.emit("lesser", place, n.scalar(0, place), dtype="bool")
        place = n.emit("where", negative, n.emit("add", place, size_tensor(depth)), place)
    classes = counting_along(n, depth, axis, rank)
    if dtype == "uint64":
        classes = n.emit("cast", classes, data_type=dtype)
    off, on = (n.reshape(n.slice(values, 0, i, 1), ()) for i in range(2))
    return n.emit("where", n.emit("equal", place, classes, dtype="bool"), on, off)


@onnx_op("EyeLike", 9, 22)
def eye_like(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    if x.rank != 2:
        raise n.error(f"input is {x}, expected a matrix")
    code = n.attr("dtype", None)
    dtype = x.dtype if code is None else dtype_of_code(code)
    offset = n.emit("sub", counting_along(n, x.shape[1], 1, 2), counting_along(n, x.shape[0], 0, 2))
    ones = n.emit("equal", offset, n.constant(np.int64(n.attr("k"))), dtype="bool")
    if carrier(dtype) == "uint8":
        return n.emit("identity", ones, dtype=dtype)
    return n.emit("cast", ones, data_type=carrier(dtype), dtype=dtype)


@onnx_op("TopK", 1, 10, 11, 24)
def top_k(n: NodeContext) -> tuple[Tensor, ...]:
    x = n.tensor(0)
    axis = n.axis(n.attr("axis"), x.rank)
    (count,) = (n.attr("k"),) if n.version < 10 else n.dims(1)
    if isinstance(count, int) and count < 0:
        raise n.error(f"k is {count}, expected no negative number")
    largest, ordered = (bool(n.attr(name, 1)) for name in ("largest", "sorted"))
    return n.emit_all("top_k", x, k=count, axis=axis, largest=largest, sorted=ordered)
