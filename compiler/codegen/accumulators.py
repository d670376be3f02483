"""What reductions start from, and the primitives that combine their elements."""

from __future__ import annotations

import math

from basalt.ops.types import integer_bounds, is_float

from ..ir import Node
from .terms import register_suffix

_COMBINE = {"reduce_sum": "radd", "reduce_product": "rmul", "reduce_max": "rmax", "reduce_min": "rmin"}


def identity(node: Node) -> float | int:
    """The number that a reduction starts from."""
    dtype = node.output.dtype
    if node.op == "reduce_sum":
        return 0
    if node.op == "reduce_product":
        return 1
    lowest = node.op == "reduce_max"
    if is_float(dtype):
        return -math.inf if lowest else math.inf
    low, high = integer_bounds(dtype)
    return low if lowest else high


def combined(node: Node, total: str, element: str, *, ordered: bool = False) -> str:
    """The source that adds an element to a reduction's running total.

    The order of elements is free, unless ``ordered``: then it is the one that is written.
    """
    name = _COMBINE[node.op]
    if ordered and name in ("radd", "rmul"):
        name = name[1:]
    return f"{name}_{register_suffix(node.output.dtype)}({total}, {element})"
