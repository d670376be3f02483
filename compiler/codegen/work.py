"""How much a kernel call computes and moves, for people who compare it with what the machine can do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from basalt import ops

from ..ir import FUSED, Node
from ..views import View
from .kernel import Call

__all__ = ["arithmetic_dtype", "bytes_moved", "operations_of"]

_BYTES = frozenset({"int8", "uint8"})


def operations_of(node: Node) -> int:
    """The arithmetic operations of a node of known sizes (:meth:`basalt.ops.Operator.operations`)."""
    return sum(_operations(inner) for inner in _simple_nodes(node))


def arithmetic_dtype(node: Node) -> str:
    """What a node computes in, as far as the machine's speed depends on it: float32, float64 or int8."""
    heaviest = max(_simple_nodes(node), key=_operations)
    dtype = heaviest.present[0].dtype if heaviest.present else heaviest.outputs[0].dtype
    return "int8" if dtype in _BYTES else "float64" if dtype == "float64" else "float32"


def bytes_moved(call: Call) -> int:
    """The bytes that a call reads and writes at least: each element of its buffers' views once.

    Of a table that is looked up, a call reads as much as it writes at most.
    """
    views = [slot for slot in call.slots if isinstance(slot, View)]
    written = sum(_held(view) for view in _distinct(views) if view.buffer in call.writes)
    reads = [_held(view) for view in _distinct(views) if view.buffer not in call.writes]
    if "gather" in call.kind:
        reads = [min(size, written) for size in reads]
    return written + sum(reads)


def _operations(node: Node) -> int:
    operator = ops.get(node.op)
    types = operator.bind([None if v is None else v.type for v in node.inputs])
    count = operator.operations(types, dict(node.attrs), [v.type for v in node.outputs])
    assert isinstance(count, int), "programs are of known sizes"
    return count


def _simple_nodes(node: Node) -> Iterator[Node]:
    if node.op != FUSED:
        yield node
        return
    for inner in node.body.nodes:
        yield from _simple_nodes(inner)


def _distinct(views: Iterable[View]) -> list[View]:
    return list({(view.buffer, view.offset, view.shape, view.strides): view for view in views}.values())


def _held(view: View) -> int:
    """Bytes of a view's elements, repeated ones once."""
    return view.itemsize * math.prod(size for size, stride in zip(view.shape, view.strides) if stride)
