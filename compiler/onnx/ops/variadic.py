"""Element-wise operators of any number of operands: Min, Max, Sum, Mean."""

from __future__ import annotations

from functools import partial, reduce

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .broadcasting import check_same_shapes
from .precision import in_wide_floats

BROADCASTS_SINCE = 8


def _inputs(n: NodeContext) -> list[Tensor]:
    tensors = n.tensors()
    if not tensors:
        raise n.error("has no inputs, expected one or more")
    if n.version < BROADCASTS_SINCE:
        check_same_shapes(n, tensors)
    return tensors


def _extreme(n: NodeContext, op: str) -> Tensor:
    """NaN wherever one operand is NaN."""
    return reduce(partial(n.emit, op), _inputs(n))


onnx_op("Min", 1, 6, 8, 12, 13)(partial(_extreme, op="min"))
onnx_op("Max", 1, 6, 8, 12, 13)(partial(_extreme, op="max"))


@onnx_op("Sum", 1, 6, 8, 13)
def total(n: NodeContext) -> Tensor:
    tensors = _inputs(n)
    if len(tensors) <= 2:
        return reduce(partial(n.emit, "add"), tensors)
    return in_wide_floats(n, lambda *terms: reduce(partial(n.emit, "add"), terms), *tensors)


@onnx_op("Mean", 1, 6, 8, 13)
def mean(n: NodeContext) -> Tensor:
    tensors = _inputs(n)
    if len(tensors) == 1:
        return tensors[0]

    def average(*terms: Tensor) -> Tensor:
        return n.emit("div", reduce(partial(n.emit, "add"), terms), n.scalar(len(terms), like=terms[0]))

    return in_wide_floats(n, average, *tensors)
