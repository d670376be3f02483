"""Reductions, softmax, and positions of extremes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from basalt import ops
from basalt.ops.types import integer_bounds, numpy_dtype

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_REDUCTIONS = {
    "reduce_l1": "ReduceL1",
    "reduce_l2": "ReduceL2",
    "reduce_log_sum": "ReduceLogSum",
    "reduce_log_sum_exp": "ReduceLogSumExp",
    "reduce_max": "ReduceMax",
    "reduce_mean": "ReduceMean",
    "reduce_min": "ReduceMin",
    "reduce_product": "ReduceProd",
    "reduce_sum": "ReduceSum",
    "reduce_sum_square": "ReduceSumSquare",
}

_OF_ONE: dict[str, Callable[[NodeWriter, Tensor], Tensor]] = {
    "reduce_l1": lambda n, x: n.call("Abs", x),
    "reduce_l2": lambda n, x: n.call("Abs", x),
    "reduce_log_sum": lambda n, x: n.call("Log", x),
    "reduce_sum_square": lambda n, x: n.call("Mul", x, x),
}
"""What a reduction over no axes does to each element, where it does something."""


@exports(*_REDUCTIONS)
def reduction(n: NodeWriter) -> Tensor:
    """No axes mean all of them in ONNX and none in the core; ONNX leaves open what an empty set gives."""
    x, axes = n["input"], n.attrs["axes"]
    if not axes:
        return _OF_ONE.get(n.node.op, lambda n, x: n.call("Identity", x))(n, x)
    if any(n.type("input").shape[axis] == 0 for axis in axes):
        return n.filled(_of_nothing(n), n.out[0].dtype, n.out[0].shape)
    op_type, keep = _REDUCTIONS[n.node.op], n.attrs["keep_dimensions"]
    if x.dtype == "uint64":
        return _of_uint64(n, op_type, x, keep)
    if x.dtype in ("int32", "uint32", "int16", "uint16") and op_type not in ("ReduceMax", "ReduceMin"):
        return _of_narrow(n, op_type, x, keep)
    return n.reduce(op_type, x, axes, keep)


def _of_narrow(n: NodeWriter, op_type: str, x: Tensor, keep: bool) -> Tensor:
    """Summed up in int64, whose lower bits are the wrapped sum: ONNX Runtime clamps sums to the range of their type."""
    if op_type == "ReduceSumSquare":
        x, op_type = n.call("Mul", x, x), "ReduceSum"
    return n.cast(n.reduce(op_type, n.cast(x, "int64"), n.attrs["axes"], keep), x.dtype)


def _of_nothing(n: NodeWriter) -> float | int:
    dtype = n.out[0].dtype
    empty = np.zeros((0,), numpy_dtype(dtype))
    operator = ops.get(n.node.op)
    outputs, attrs = operator.check(
        [ops.TensorType(dtype, (0,))], {"axes": None, "keep_dimensions": False}, extended=True
    )
    number: float | int = operator.evaluate(operator.bind([empty]), attrs, outputs)[0].item()
    return number


def _of_uint64(n: NodeWriter, op_type: str, x: Tensor, keep: bool) -> Tensor:
    """As int64 of the same bits: sums and products wrap around alike; for comparisons the highest bit is turned."""
    low = n.scalar(integer_bounds("int64")[0], "int64")
    signed = n.cast(x, "int64")
    if op_type in ("ReduceMax", "ReduceMin"):
        extreme = n.reduce(op_type, n.call("Add", signed, low), n.attrs["axes"], keep)
        return n.cast(n.call("Add", extreme, low), "uint64")
    # The absolute value of a number that is not negative is itself.
    return n.cast(n.reduce(op_type.replace("L1", "Sum"), signed, n.attrs["axes"], keep), "uint64")


@exports("arg_max", "arg_min")
def extreme(n: NodeWriter) -> Tensor:
    x = n["input"]
    if x.dtype == "uint64":
        x = n.call("Add", n.cast(x, "int64"), n.scalar(integer_bounds("int64")[0], "int64"))
    op_type = "ArgMax" if n.node.op == "arg_max" else "ArgMin"
    return n.call(op_type, x, axis=n.attrs["axis"], keepdims=int(n.attrs["keep_dimensions"]))


@exports("softmax")
def softmax(n: NodeWriter) -> Tensor:
    return n.call("Softmax", n["input"], axis=n.attrs["axis"])
