"""Which nodes are computed point by point."""

from __future__ import annotations

from basalt import ops
from basalt.ops.elementwise import Expressed
from basalt.ops.shapes import broadcastable_to

from .ir import FUSED, Node


def is_pointwise(node: Node) -> bool:
    """Whether a node applies a scalar expression to operands that are broadcast to its result."""
    if node.op == FUSED or not isinstance(ops.get(node.op), Expressed):
        return False
    return all(broadcastable_to(v.shape, node.output.shape) for v in node.present)
