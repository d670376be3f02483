"""Values without computation: Constant, Identity, Shape, Size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Item, Tensor, of_elements


@onnx_op("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
def constant(n: NodeContext) -> Tensor:
    kinds = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
    for name in ("value", "sparse_value"):
        if n.has(name):
            return n.constant(n.attr(name))
    for name, dtype in kinds.items():
        if n.has(name):
            return n.constant(n.attr(name), dtype)
    for name in ("value_string", "value_strings"):
        if n.has(name):
            return n.constant(np.array(n.attr(name), dtype=object))
    raise n.error("has no value")


@onnx_op("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def identity(n: NodeContext) -> Item:
    return n.item(0)


@onnx_op("Shape", 1, 13, 15, 19, 21, 23, 24, 25)
def shape(n: NodeContext) -> Tensor:
    x = n.item(0)
    if not isinstance(x, Tensor):
        raise n.error(f"got {x}, expected a tensor")
    start, end = n.attr("start", 0), n.attr("end", None)
    dims: Any = np.empty(len(x.shape), object)
    dims[:] = x.shape
    return of_elements("int64", dims[slice(start, end)])


@onnx_op("Size", 1, 13, 19, 21, 23, 24, 25)
def size(n: NodeContext) -> Tensor:
    x = n.item(0)
    if not isinstance(x, Tensor):
        raise n.error(f"got {x}, expected a tensor")
    total: Any = 1
    for d in x.shape:
        total = total * d
    return of_elements("int64", np.array(total, dtype=object))
