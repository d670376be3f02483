"""Scaling of columns becomes part of the weights of the products that it goes into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from basalt import ops
from basalt.ops import numpy_dtype

from ..ir import Constants, Graph, Node, Value
from .pruning import pruned

__all__ = ["folded_scaling"]

LIMITS = {"float64": 256.0, "float32": 1.5}
"""The most spreads that columns may be moved by. The product of what was not moved is as many times larger than that of
what was, and loses so many times more of its digits; float32 has few to lose."""


@dataclass(frozen=True)
class _Scaled:
    """``value * factor + addend`` by column, in float64."""

    value: Value
    factor: np.ndarray
    addend: np.ndarray


def folded_scaling(graph: Graph, constants: Constants) -> tuple[Graph, Constants]:
    """The graph with constant factors and addends of columns folded into the products that alone take them.

    Centring without scaling stays, as nothing says what it is small against.

    Args:
        graph: an estimator's graph.
        constants: the arrays beside it, which stay as they are.

    Returns:
        The graph and the arrays beside it, the same ones where there is nothing to fold.
    """
    producers, consumers = graph.producers(), graph.consumers()
    outputs = set(graph.output_values())
    more = constants.copy()
    replaced: dict[Node, Node] = {}
    for node in graph.nodes:
        if not _is_product(node):
            continue
        x = node.inputs[0]
        assert x is not None
        if x in outputs or not all(_is_product(c) and c.inputs[0] is x for c in consumers.get(x, ())):
            continue
        scaled = _traced(x, producers, constants)
        if scaled is not None:
            made = _folded(node, scaled, constants, more)
            if made is not None:
                replaced[node] = made
    if not replaced:
        return graph, constants
    changed = graph.with_nodes(tuple(replaced.get(node, node) for node in graph.nodes))
    return pruned(changed, [name for name, _ in graph.outputs]), more


def _is_product(node: Node) -> bool:
    """Whether a node multiplies rows by a constant matrix."""
    plain = node.op == "gemm" and len(node.present) == 2 and not node.attrs["a_transpose"]
    if not (plain and node.attrs["alpha"] == 1) and node.op != "matmul":
        return False
    a, b = node.inputs[:2]
    assert a is not None and b is not None
    return not a.is_constant and b.is_constant and len(a.shape) == len(b.shape) == 2 and a.dtype in LIMITS


def _traced(x: Value, producers: dict[Value, Node], constants: Constants) -> _Scaled | None:
    """The operand furthest back of which x is a multiple with an addend that costs no digits."""
    width = int(x.shape[1])
    factor, addend, value = np.ones(width), np.zeros(width), x
    found, scales = None, False
    while True:
        node = producers.get(value)
        if node is None or node.op not in ("add", "sub", "mul", "div"):
            return found
        first, second = node.inputs[:2]
        assert first is not None and second is not None
        if first.is_constant or not second.is_constant or first.shape != value.shape:
            return found
        numbers = constants.array(second).astype(np.float64)
        if numbers.size not in (1, width) or (numbers.size == width and numbers.shape[-1] != width):
            return found
        numbers = np.broadcast_to(numbers.reshape(-1), (width,))
        with np.errstate(all="ignore"):
            if node.op in ("add", "sub"):
                addend = addend + (factor * numbers if node.op == "add" else -factor * numbers)
            else:
                factor = factor * numbers if node.op == "mul" else factor / numbers
                scales = True
        value = first
        moved = float(np.abs(addend).max(initial=0.0))
        if moved == 0 or (scales and moved <= LIMITS[x.dtype]):
            found = _Scaled(value, factor, addend)


def _folded(node: Node, scaled: _Scaled, constants: Constants, more: Constants) -> Node | None:
    """The product of what was not scaled; None where weights would overflow or vanish."""
    given = node.inputs[1]
    assert given is not None
    dtype = numpy_dtype(given.dtype)
    weights = constants.array(given).astype(np.float64)
    weights = weights if node.op == "gemm" and node.attrs["b_transpose"] else weights.T
    with np.errstate(all="ignore"):
        changed = (weights * scaled.factor).astype(dtype)
        bias = (weights @ scaled.addend).astype(dtype)
    kept = (changed == 0) == (weights == 0)
    if not (np.isfinite(changed).all() and np.isfinite(bias).all() and kept.all()):
        return None
    operands = [scaled.value, more.add(np.ascontiguousarray(changed))]
    if bias.any():
        operands.append(more.add(bias))
    operator = ops.get("gemm")
    settled = {o.name: o.default for o in (*operator.arguments, *operator.options)} | {"b_transpose": True}
    types = [v.type for v in operands]
    _, attrs = operator.check([*types, *[None] * (3 - len(types))], settled, node.label, extended=True)
    return Node("gemm", (*operands, *[None] * (3 - len(operands))), node.outputs, attrs, node.label, node.origin)
