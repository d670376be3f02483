"""Positions of extremes: ArgMax, ArgMin, and Hardmax, which marks them."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor, of_elements
from .building import iota
from .flattening import along_axis


def _arg(n: NodeContext, op: str) -> Tensor:
    x, axis = n.tensor(0), n.attr("axis")
    if x.rank == 0 and axis in (-1, 0):
        return n.constant(0, "int64")
    axis = n.axis(axis, x.rank)
    keep = bool(n.attr("keepdims"))
    if not n.attr("select_last_index", 0):
        return n.emit(op, x, axis=axis, keep_dimensions=keep, output_data_type="int64")
    backwards = n.emit("reverse", x, axes=(axis,))
    found = n.emit(op, backwards, axis=axis, keep_dimensions=keep, output_data_type="int64")
    last = of_elements("int64", np.array(x.shape[axis] - 1, object))
    return n.emit("sub", last, found)


onnx_op("ArgMax", 1, 11, 12, 13)(partial(_arg, op="arg_max"))
onnx_op("ArgMin", 1, 11, 12, 13)(partial(_arg, op="arg_min"))


@onnx_op("Hardmax", 1, 11, 13)
def hardmax(n: NodeContext) -> Tensor:
    """1 at the first of the largest elements (at the first NaN, if there is one), else 0."""

    def function(x: Tensor, axis: int) -> Tensor:
        if 0 in x.shape:
            return x
        size = x.shape[axis]
        found = n.emit("arg_max", x, axis=axis, keep_dimensions=True, output_data_type="int32")
        places = n.reshape(iota(n, size, "int32"), (size, *[1] * (x.rank - axis - 1)))
        return n.cast(n.emit("equal", found, places, dtype="bool"), x.dtype)

    return along_axis(n, function)
