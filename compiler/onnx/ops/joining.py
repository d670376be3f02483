"""Operators that make larger tensors of whole ones: Concat, Expand, Tile."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.ops import Dim
from basalt.ops.schema import RuleError
from basalt.ops.shapes import broadcast, text

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor


@onnx_op("Concat", 1, 4, 11, 13)
def concat(n: NodeContext) -> Tensor:
    inputs = n.tensors()
    if not inputs:
        raise n.error("has no inputs, expected one or more")
    rank = inputs[0].rank
    given = n.attr("axis", 1) if n.version < 4 else n.attr("axis")
    axis = n.axis(given, rank)
    return inputs[0] if len(inputs) == 1 else n.emit("concat", *inputs, axis=axis)


@onnx_op("Expand", 8, 13)
def expand(n: NodeContext) -> Tensor:
    x, asked = n.tensor(0), n.dims(1)
    if any(isinstance(d, int) and d < 0 for d in asked):
        raise n.error(f"shape is {text(asked)}, expected no negative sizes")
    try:
        shape = broadcast(tuple(x.shape), asked)
    except RuleError as error:
        raise n.error(str(error)) from None
    return n.expand(x, shape)


def _tiled(n: NodeContext, x: Tensor, counts: Sequence[Dim]) -> Tensor:
    if len(counts) != x.rank or any(isinstance(c, int) and c < 0 for c in counts):
        raise n.error(f"repeats are {text(counts)}, expected {x.rank} counts of 0 or more")
    for axis, count in enumerate(counts):
        if count == 0:
            x = n.slice(x, axis, 0, 0)
    rest = tuple(1 if c == 0 else c for c in counts)
    return x if all(c == 1 for c in rest) else n.emit("tile", x, repetitions=rest)


@onnx_op("Tile", 1)
def tile_1(n: NodeContext) -> Tensor:
    x = n.tensor(0)
    values = [n.array(place).reshape(-1) for place in (1, 2)]
    if any(v.size != 1 for v in values):
        raise n.error("tiles and axis are expected to hold one number each")
    count, axis = (int(v[0]) for v in values)
    place = n.axis(axis, x.rank)
    return _tiled(n, x, [count if i == place else 1 for i in range(x.rank)])


@onnx_op("Tile", 6, 13)
def tile(n: NodeContext) -> Tensor:
    return _tiled(n, n.tensor(0), n.dims(1))
