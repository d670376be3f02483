"""What Softmax, LogSoftmax and Hardmax work along: one axis from version 13 on, before it all from an axis on."""

from __future__ import annotations

from collections.abc import Callable

from basalt.ops.dims import product

from ..node import NodeContext
from ..tensor import Tensor

__all__ = ["along_axis"]

ONE_AXIS_SINCE = 13


def along_axis(n: NodeContext, function: Callable[[Tensor, int], Tensor]) -> Tensor:
    """A function of a tensor and an axis, for the operator's input and ``axis`` as its version means them.

    Before version 13 the input is reshaped to two dimensions, cut before ``axis``, and the function goes along the
    second of them. Negative axes, which the standard names from version 11 on, count from the end in all versions.
    """
    x, axis = n.tensor(0), n.attr("axis")
    if x.rank == 0 and axis in (-1, 0):
        return n.reshape(function(n.reshape(x, (1,)), 0), ())
    if n.version >= ONE_AXIS_SINCE:
        return function(x, n.axis(axis, x.rank))
    if axis == x.rank:
        return n.reshape(function(n.reshape(x, (*x.shape, 1)), x.rank), x.shape)
    axis = n.axis(axis, x.rank)
    if axis == x.rank - 1:
        return function(x, axis)
    flat = n.reshape(x, (product(x.shape[:axis]), product(x.shape[axis:])))
    return n.reshape(function(flat, 1), x.shape)
