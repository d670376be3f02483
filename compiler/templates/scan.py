"""Cumulative sums and triangles: rows whose elements depend on their position."""

from __future__ import annotations

import math

from basalt.ops import TensorType
from basalt.ops.types import is_float

from ..codegen.body import Body
from ..codegen.kernel import KernelBuilder
from ..codegen.lowering import Lowering
from ..codegen.registry import template
from ..codegen.terms import register_suffix
from ..ir import Node, Value
from ..views import View, collapse
from .elementwise import decode
from .raw import raw


@template("cumulative_sum")
def cumulative_sum(node: Node, lowering: Lowering) -> None:
    """A running sum along one axis, of floats in float64, whose additions take no longer; a unit is one line of it."""
    source, target = lowering.read(node.present[0]), lowering.write(node.output)
    axis = node.attrs["axis"]
    if node.attrs["reversed"]:
        source, target = source.reversed([axis]), target.reversed([axis])
    lines, strides = collapse(
        [d for i, d in enumerate(source.shape) if i != axis], [_without(v.strides, axis) for v in (source, target)]
    )
    kernel = KernelBuilder("cumulative_sum")
    body = Body(kernel, (), len(lines) + 1)
    given = body.declare_input(Value(_type(source)), source, (*strides[0], source.strides[axis]))
    result = body.declare_output(Value(_type(target)), target, (*strides[1], target.strides[axis]))
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate(lines)]
    n = kernel.parameter("n", source.shape[axis])
    sums = "float64" if is_float(source.dtype) else source.dtype
    held, wide = register_suffix(source.dtype), register_suffix(sums)
    total = "total" if held == wide else f"cast_{wide}_{held}(total)"
    with kernel.block("for u in range(start, stop)"):
        body.start_row(decode(kernel, "u", sizes))
        kernel.line(f"total = {body.terms.constant(0, sums)}")
        with kernel.block(f"for j in range({n})"):
            element = body.load(given, given.index(-1, "j"))
            if node.attrs["exclusive"]:
                body.store(result, result.index(-1, "j"), total)
            term = element if held == wide else f"cast_{held}_{wide}({element})"
            kernel.line(f"total = add_{wide}(total, {term})")
            if not node.attrs["exclusive"]:
                body.store(result, result.index(-1, "j"), total)
    lowering.add(kernel.call(math.prod(lines), source.size * 1.2 + 5.0))


@template("triangular")
def triangular(node: Node, lowering: Lowering) -> None:
    """A triangle of each matrix; a unit is one row, of which a stretch is copied and the rest zeroed."""
    source, target = (raw(v) for v in (lowering.read(node.present[0]), lowering.write(node.output)))
    batch, strides = collapse(source.shape[:-2], [v.strides[:-2] for v in (source, target)])
    kernel = KernelBuilder("triangular")
    body = Body(kernel, (), len(batch) + 2)
    given = body.declare_input(Value(_type(source)), source, (*strides[0], *source.strides[-2:]))
    result = body.declare_output(Value(_type(target)), target, (*strides[1], *target.strides[-2:]))
    rows, columns = source.shape[-2:]
    sizes = [kernel.parameter(f"d{i}", d) for i, d in enumerate((*batch, rows))]
    n = kernel.parameter("n", columns)
    diagonal = kernel.parameter("diagonal", node.attrs["diagonal"])
    zero = body.terms.constant(0, source.dtype)
    with kernel.block("for u in range(start, stop)"):
        indices = decode(kernel, "u", sizes)
        body.start_row(indices)
        kernel.line(f"edge = clamp_i64({indices[len(batch)]} + {diagonal} + {0 if node.attrs['upper'] else 1}, 0, {n})")
        kept, cleared = (("edge", n), ("0", "edge")) if node.attrs["upper"] else (("0", "edge"), ("edge", n))
        with kernel.block(f"for j in range({kept[0]}, {kept[1]})"):
            body.store(result, result.index(-1, "j"), body.load(given, given.index(-1, "j")))
        with kernel.block(f"for j in range({cleared[0]}, {cleared[1]})"):
            body.store(result, result.index(-1, "j"), zero)
    lowering.add(kernel.call(math.prod(batch) * rows, source.size * 0.3 + 5.0))


def _without(strides: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return strides[:axis] + strides[axis + 1 :]


def _type(view: View) -> TensorType:
    return TensorType(view.dtype, view.shape)
