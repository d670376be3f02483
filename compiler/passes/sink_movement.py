"""Computes what follows a convolution or pool before its result is reshaped or transposed.

Convolutions along one axis, or three, are planar ones between reshapes and transpositions, behind which batch
normalisations, activations and sums would be kernels of their own. An element-wise operator may as well come first:
it is then computed with the convolution, and what moved its elements meets what moves them for the next one.
"""

from __future__ import annotations

import math
from functools import cache

from basalt import ops
from basalt.ops.elementwise import Elementwise
from basalt.ops.shapes import broadcastable_to

from ..ir import Graph, Node, Value
from .context import Context
from .emitter import Emitter
from .patterns import Match, Surroundings, op
from .rewriting import Rewrite, Rules, apply_rewrites, index, only_if, rewrite

ROOTS = frozenset({"conv2d", "conv_transpose2d", "average_pool2d", "l2_pool2d", "max_pool2d"})
_MOVING = ("reshape", "transpose")
_DEPTH = 12
"""Nodes between a root and what is moved up to it."""
_Shape = tuple[int, ...]


def sink_movement(graph: Graph, context: Context) -> Graph:
    """The graph with reshapes and transpositions of convolutions' results behind the operators that follow them."""
    if not any(node.op in ROOTS for node in graph.nodes):
        return graph
    elementwise = sorted({node.op for node in graph.nodes if _is_elementwise(node)})
    return apply_rewrites(graph, context, _rules(tuple(elementwise)), "sink_movement")


def _is_elementwise(node: Node) -> bool:
    return isinstance(ops.get(node.op), Elementwise)


def _movement(m: Match) -> Node | None:
    """The first operand's movement of the root's whole shape that comes from a convolution or pool."""
    for value in m.root.present:
        node = m.graph.producer(value)
        if node is None or node.op not in _MOVING or value.shape != m.root.outputs[0].shape:
            continue
        if _is_of_root(m.graph, node.present[0]):
            return node
    return None


def _is_of_root(graph: Surroundings, value: Value) -> bool:
    for _ in range(_DEPTH):
        node = graph.producer(value)
        if node is None:
            return False
        if node.op in ROOTS:
            return True
        if node.op not in (*_MOVING, "batch_normalization") and not _is_elementwise(node):
            return False
        value = next((v for v in node.present if not v.is_constant), value)
    return False


def _operands(m: Match, movement: Node, e: Emitter | None) -> list[Value | None] | None:
    """The root's operands before a movement; None if one cannot be had without a copy."""
    found: list[Value | None] = []
    for value in m.root.inputs:
        before = None if value is None else _before(m, value, movement, e)
        if value is not None and before is None:
            return None
        found.append(before)
    return found


def _before(m: Match, value: Value, movement: Node, e: Emitter | None) -> Value | None:
    """What a movement makes an operand of, as far as the result's shape asks for it.

    Without an emitter, the operand itself stands for one that can be had.
    """
    source, producer = movement.present[0], m.graph.producer(value)
    if producer is not None and producer.op == movement.op and value.shape == movement.output.shape:
        same = movement.op == "reshape" or producer.attrs == movement.attrs
        if same and producer.present[0].shape == source.shape:
            return producer.present[0]
    if value.type.rank == 0:
        return value
    if not value.is_constant and not (movement.op == "reshape" and _moves_units(source, movement.output)):
        # Other results may lie as they are read here, and not as they would be.
        return None
    rank = movement.output.type.rank
    shape = (*[1] * (rank - value.type.rank), *map(int, value.shape))
    if movement.op == "transpose":
        order = movement.attrs["permutation"]
        back = tuple(order.index(i) for i in range(rank))
        # Constants go on as constants, which the next movement may move, too.
        return value if e is None else e.fold("transpose", _reshaped(value, shape, e), permutation=back)
    before = shape_before(shape, _sizes(source), _sizes(movement.output))
    if before is None or e is None:
        return None if before is None else value
    return _reshaped(value, before, e)


def _reshaped(value: Value, shape: _Shape, e: Emitter) -> Value:
    if value.is_constant and value.shape != shape:
        return e.fold("reshape", value, new_shape=shape)
    return e.reshape(value, shape)


def _sizes(value: Value) -> _Shape:
    return tuple(int(d) for d in value.shape)


def _moves_units(source: Value, result: Value) -> bool:
    """Whether a reshape only adds dimensions of size 1, or takes them away: any strides allow that."""
    return [d for d in source.shape if d != 1] == [d for d in result.shape if d != 1]


def shape_before(shape: _Shape, source: _Shape, result: _Shape) -> _Shape | None:
    """The shape that an operand, broadcast to ``result``, must have to be broadcast to ``source`` alike.

    ``result`` is ``source`` reshaped, of which the operand has the rank. None if there is no such shape.
    """
    found: list[int] = []
    for mine, before, after in _groups(shape, source, result):
        if math.prod(mine) == 1:
            found += [1] * len(before)
        elif mine == after:
            found += before
        else:
            return None
    return tuple(found)


def _groups(shape: _Shape, source: _Shape, result: _Shape) -> list[tuple[_Shape, _Shape, _Shape]]:
    """The fewest neighbouring dimensions of both shapes with as many elements, and those of ``shape``."""
    groups = []
    i = j = 0
    while i < len(source) or j < len(result):
        first_i, first_j = i, j
        left, right = 1, 1
        while True:
            if left == right and (i, j) != (first_i, first_j):
                break
            if left <= right and i < len(source):
                left, i = left * source[i], i + 1
            elif j < len(result):
                right, j = right * result[j], j + 1
            else:
                left, i = left * source[i], i + 1
        groups.append((shape[first_j:j], source[first_i:i], result[first_j:j]))
    return groups


def _may_sink(m: Match) -> bool:
    result = m.root.outputs[0]
    if not result.type.is_static or 0 in result.shape or len(m.root.outputs) != 1:
        return False
    if not all(v.type.is_static and broadcastable_to(v.shape, result.shape) for v in m.root.present):
        return False
    movement = _movement(m)
    return movement is not None and movement.present[0].type.is_static and _operands(m, movement, None) is not None


def _behind(movement: Node, value: Value, e: Emitter) -> Value:
    if movement.op == "transpose":
        return e.emit("transpose", value, permutation=movement.attrs["permutation"])
    return e.reshape(value, movement.output.shape)


def _elementwise_rule(operators: tuple[str, ...]) -> Rewrite:
    @rewrite(op(operators), only_if(_may_sink))
    def movement_behind_elementwise(m: Match, e: Emitter) -> Value:
        """Each element of the result depends on the same ones, wherever they lie."""
        movement = _movement(m)
        assert movement is not None
        operands = _operands(m, movement, e)
        assert operands is not None
        return _behind(movement, e.emit(m.root.op, *operands, **m.root.attrs), e)

    return movement_behind_elementwise


def _axis_before(movement: Node, axis: int) -> int | None:
    """The axis that a movement makes a given one of; None if that is more or less than one."""
    if movement.op == "transpose":
        return int(movement.attrs["permutation"][axis])
    source, result = _sizes(movement.present[0]), _sizes(movement.output)
    alone = tuple(d if i == axis else 1 for i, d in enumerate(result))
    before = shape_before(alone, source, result)
    if before is None or result[axis] == 1:
        return None
    axes = [i for i, d in enumerate(before) if d != 1]
    return axes[0] if len(axes) == 1 else None


def _may_normalise_before(m: Match) -> bool:
    movement = m.graph.producer(m.root.present[0])
    if movement is None or movement.op not in _MOVING or not _is_of_root(m.graph, movement.present[0]):
        return False
    static = movement.output.type.is_static and movement.present[0].type.is_static
    return static and 0 not in movement.output.shape and _axis_before(movement, m.root.attrs["axis"]) is not None


@rewrite(op("batch_normalization"), only_if(_may_normalise_before))
def movement_behind_normalization(m: Match, e: Emitter) -> Value:
    """The numbers of a channel belong to the axis that holds it before."""
    movement = m.graph.producer(m.root.present[0])
    assert movement is not None
    attrs = {**m.root.attrs, "axis": _axis_before(movement, m.root.attrs["axis"])}
    y = e.emit("batch_normalization", movement.present[0], *m.root.inputs[1:], **attrs)
    return _behind(movement, y, e)


@cache
def _rules(elementwise: tuple[str, ...]) -> Rules:
    return index((_elementwise_rule(elementwise), movement_behind_normalization))
