"""Tensors made from sizes and numbers: Range, ConstantOfShape."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.ops import Dim, SymDim
from basalt.ops.dims import ceil_div, dim_max
from basalt.ops.schema import MAX_RANK

from ..errors import OnHostError
from ..host.registry import HostNode
from ..host.registry import find as find_host
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor, dims_of, onnx_dtype_name
from .building import iota


@onnx_op("Range", 11, 27)
def number_range(n: NodeContext) -> Tensor:
    """Numbers from known limits, or from integers that are sizes; others are left to the host."""
    start, limit, delta = n.tensors()
    if all(t.array is not None for t in (start, limit, delta)):
        return n.constant(_computed(n, start.array, limit.array, delta.array), start.dtype)
    bounds = [dims_of(t) for t in (start, limit, delta)]
    if any(b is None or len(b) != 1 for b in bounds):
        raise OnHostError
    (first,), (end,), (step,) = bounds  # type: ignore[misc]
    if isinstance(step, SymDim):
        raise OnHostError
    if step == 0:
        raise n.error("input delta is 0, expected another value")
    steps = iota(n, _count(first, end, step), start.dtype)
    scaled = steps if step == 1 else n.emit("mul", steps, delta)
    return scaled if first == 0 else n.emit("add", scaled, n.reshape(start, ()))


def _computed(n: NodeContext, *bounds: Any) -> np.ndarray:
    function = find_host("Range", n.version)
    assert function is not None
    node = HostNode(n.op, n.version, n.domain, n.label, n.attributes)
    return np.asarray(function(node, *bounds))


def _count(start: Dim, limit: Dim, step: int) -> Dim:
    """How many numbers there are before the limit."""
    span = limit - start if step > 0 else start - limit
    if isinstance(span, int):
        return max(-(-span // abs(step)), 0)
    # A size itself is never negative.
    return ceil_div(span if start == 0 and step > 0 else dim_max(span, 0), abs(step))


@onnx_op("ConstantOfShape", 9, 20, 21, 23, 24, 25)
def constant_of_shape(n: NodeContext) -> Tensor:
    """A shape that only a run can tell is left to the host, so that no program is made for each."""
    given = n.tensor(0)
    if given.array is None and given.sizes is None and not given.sized:
        raise OnHostError
    shape = n.dims(0)
    if any(isinstance(d, int) and d < 0 for d in shape):
        raise n.error(f"the shape is {list(shape)}, expected no negative size")
    value = n.attr("value")
    value = np.zeros(1, np.float32) if value is None else np.asarray(value)
    if value.size != 1:
        raise n.error(f"attribute value has {value.size} elements, expected one")
    dtype = onnx_dtype_name(value.dtype)
    if n.schema is not None and dtype not in n.schema.outputs[0].types:
        raise n.error(f"attribute value is {dtype}, expected one of {', '.join(sorted(n.schema.outputs[0].types))}")
    if len(shape) > MAX_RANK:
        raise OnHostError
    return n.expand(n.constant(value.reshape(())), shape)
