"""Decides which images are stored with their channels last, whatever the order of their dimensions.

Convolutions are fastest where a pixel's channels are neighbours in memory: vectors run over them, and a window's
elements lie in few runs. A tensor's order of dimensions does not change; only its strides do. What computes images from
images keeps the order that they are stored in, so that conversions happen where a region of convolutions begins (its
first kernel reads the other order) and ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from basalt.ops.types import is_float

from ..ir import FUSED, Graph, Node, Value
from ..pointwise import is_pointwise
from ..views import Storage, View, allocate

__all__ = ["allocate_in", "channels_last"]

FEWEST_CHANNELS = 12
"""Channels below which vectors over them stay emptier than those over columns."""
_ORDER, _INVERSE = (0, 2, 3, 1), (0, 3, 1, 2)
_CONVOLUTIONS = frozenset({"conv2d", "conv_transpose2d"})
_OF_IMAGES = frozenset({"average_pool2d", "l2_pool2d", "max_pool2d", "resample2d", "pad"})
"""Operators whose results lie as their first operand does."""


def channels_last(graph: Graph) -> frozenset[Value]:
    """The values [n, channels, height, width] of a graph that are better stored with their channels last."""
    found: set[Value] = set()
    split: set[Value] = set()
    for node in graph.nodes:
        rule = _rule(node)
        if rule is not None and rule(node, node.body.nodes[0] if node.op == FUSED else node, found):
            found.update(v for v in node.outputs if _is_image(v))
        elif node.op in ("reshape", "transpose", "expand") and _keeps_order(node, found | split):
            (found if _is_image(node.output) else split).add(node.output)
    return frozenset(found)


def allocate_in(value: Value, last: frozenset[Value]) -> View:
    """A temporary place for a value, in the order that was decided for it."""
    if value not in last:
        return allocate(Storage.ARENA, value.dtype, value.shape)
    return allocate(Storage.ARENA, value.dtype, tuple(value.shape[axis] for axis in _ORDER)).permuted(_INVERSE)


def _rule(node: Node) -> _Rule | None:
    root = node.attrs["root"] if node.op == FUSED else node.op
    return _as_operands if root in ("elementwise", "rows") or is_pointwise(node) else _RULES.get(root)


def _is_image(value: Value) -> bool:
    """Whether the order of a value's elements makes a difference."""
    shape = value.shape
    return len(shape) == 4 and is_float(value.dtype) and shape[1] > 1 and shape[2] * shape[3] > 1


def _keeps_order(node: Node, found: set[Value]) -> bool:
    """Whether a node only moves the channels of images within pixels (to shuffle them), or pixels (to repeat them)."""
    (x,) = node.present
    if x not in found or not is_float(x.dtype) or len(node.output.shape) < 4:
        return False
    before, after = x.shape, node.output.shape
    if node.op == "transpose":
        order, rank = tuple(node.attrs["permutation"]), len(before)
        return order[:2] == (0, 1) or (order[0] == 0 and order[-2:] == (rank - 2, rank - 1))
    return before[:2] == after[:2] or (before[0] == after[0] and before[-2:] == after[-2:])


def _convolution(node: Node, root: Node, found: set[Value]) -> bool:
    return root.attrs["input_layout"] == "nchw" and root.output.shape[1] >= FEWEST_CHANNELS


def _as_first(node: Node, root: Node, found: set[Value]) -> bool:
    return root.attrs.get("layout", "nchw") == "nchw" and node.present[0] in found


def _as_operands(node: Node, root: Node, found: set[Value]) -> bool:
    shape = node.outputs[0].shape
    return any(v in found for v in node.present if v.shape == shape)


def _as_most(node: Node, root: Node, found: set[Value]) -> bool:
    size = sum(math.prod(v.shape) for v in node.present if v in found)
    computed = sum(math.prod(v.shape) for v in node.present if not v.is_constant)
    return root.attrs["axis"] == 1 and size > 0 and 2 * size >= computed


_Rule = Callable[[Node, Node, set[Value]], bool]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_CONVOLUTIONS, _convolution),
    **dict.fromkeys(_OF_IMAGES, _as_first),
    "concat": _as_most,
}
