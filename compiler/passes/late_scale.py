"""Moves numbers by which queries or keys are multiplied behind their product, whose kernel multiplies in passing."""

from __future__ import annotations

from math import prod
from typing import cast

from ..ir import Node, Value
from .attention_parts import DTYPES
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import only_if, rewrite

__all__ = ["REWRITES", "unscaled"]

_LARGER = 4
"""How many times the scaled operand's elements a product may have, for each of which it multiplies."""


def _factor(m: Match, node: Node | None) -> tuple[Value, float] | None:
    """What a node that nothing else reads multiplies by a number or divides by one, and the factor."""
    if node is None or node.op not in ("mul", "div") or m.graph.uses(node.output) > 1:
        return None
    for x, c in (node.present, node.present[::-1]) if node.op == "mul" else (node.present,):
        number_ = m.graph.context.number(c)
        if number_ is not None and x.type == node.output.type and (number_ != 0 or node.op == "mul"):
            return x, float(number_) if node.op == "mul" else 1.0 / float(number_)
    return None


def unscaled(m: Match, e: Emitter, value: Value) -> tuple[Value, float]:
    """An operand before it was multiplied by a number, the transpose of it included, and the number.

    Kernels multiply scores by one in passing; before the product it takes a pass over the operand.
    """
    turning, found = _found(m, value)
    if found is None:
        return value, 1.0
    x, factor = found
    return (x if turning is None else e.emit("transpose", x, permutation=turning.attrs["permutation"])), factor


def _found(m: Match, value: Value) -> tuple[Node | None, tuple[Value, float] | None]:
    """The transpose that an operand comes from, if it does, and what is multiplied by which number before."""
    producer = m.graph.producer(value)
    if producer is not None and producer.op == "transpose" and m.graph.uses(value) <= 1:
        return producer, _factor(m, m.graph.producer(producer.present[0]))
    return None, _factor(m, producer)


def _scaled(m: Match, value: Value) -> bool:
    """Whether ``unscaled`` finds a number, other than 0, of an operand that is no small part of the product."""
    _, found = _found(m, value)
    return found is not None and found[1] != 0 and _elements(m.output) <= _LARGER * _elements(value)


def _elements(value: Value) -> int:
    return prod(cast("tuple[int, ...]", value.shape))


def _fits(m: Match) -> bool:
    """Constant operands take numbers in as they are."""
    operands = m["q"], m["k"]
    floats = m.output.dtype in DTYPES and not any(v.is_constant for v in operands)
    return floats and any(_scaled(m, v) for v in operands)


@rewrite(op("matmul", "q", "k"), only_if(_fits), exact=False)
def scaled_behind(m: Match, e: Emitter) -> Value:
    """A number times an operand is the number times the product, whose kernel has it in registers."""
    (q, q_scale), (k, k_scale) = (unscaled(m, e, m[name]) for name in "qk")
    return e.emit("mul", e.emit("matmul", q, k), e.scalar(q_scale * k_scale, m.output.dtype))


REWRITES = (scaled_behind,)
