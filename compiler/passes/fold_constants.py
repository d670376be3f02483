"""Computes what depends on constants alone, as long as the results are no larger than what they replace.

Weights are computed whatever their size: kernels read them in an order of their own, which they would be copied into in
every run. A run would need as much memory for them, though one after another; hence the bound on their sum.
"""

from __future__ import annotations

from math import prod

import numpy as np

from basalt.ops import SymDim

from ..ir import FUSED, Graph, Node, Value, substitute
from .context import Context
from .evaluation import evaluate

SMALL_BYTES = 64 * 1024
"""Results up to this size are always worth keeping; larger ones must not exceed the operands' bytes.

A cast of a narrow float may double them, and dequantising make four times as much of them: weights stored in half
precision or in bytes would otherwise be cast in every run.
"""

EXPANDED_BYTES = 1024
"""As SMALL_BYTES for what ``expand`` gives: where it stays it is a view, which costs nothing and reads less memory."""

GROWN_BYTES = 1 << 30
"""Bytes by which all weights of a graph may exceed what they are computed from."""

WEIGHTS = {
    **dict.fromkeys(("conv2d", "conv_transpose2d", "conv_integer", "deform_conv"), (1,)),
    **dict.fromkeys(("matmul", "gemm", "matmul_integer"), (1,)),
    **dict.fromkeys(("gru", "lstm", "recurrent"), (1, 2)),
}
"""Operands that are brought into another order when a program is made, if they are constant."""

_MAX_WORK = {
    "matmul": 2 * 10**9,
    "gemm": 2 * 10**9,
    "matmul_integer": 2 * 10**9,
    **dict.fromkeys(("conv2d", "conv_transpose2d", "gru", "gru_cell", "lstm", "lstm_cell"), 10**8),
    **dict.fromkeys(("conv_integer", "deform_conv", "recurrent"), 10**8),
}
"""Multiplications up to which an expensive operator is computed at compile time, about a second in NumPy."""

_PRODUCTS = ("matmul", "gemm", "matmul_integer")


def fold_constants(graph: Graph, context: Context) -> Graph:
    """The graph with nodes of constant operands replaced by constants."""
    folded: dict[Value, Value] = {}
    kept: list[Node] = []
    weights, room = _weights(graph), GROWN_BYTES
    for node in graph.nodes:
        operands = [folded.get(v, v) for v in node.present]
        if not all(v.is_constant for v in operands) or not _is_possible(node, context):
            kept.append(node)
            continue
        growth = _growth(node, operands)
        wanted = growth > 0 and growth <= room and any(v in weights for v in node.outputs)
        if (growth > 0 and not wanted) or not context.allow(f"fold_constants at {node!r}"):
            if growth > 0:
                context.note(f"fold_constants leaves {node!r}: {growth} bytes would be added")
            kept.append(node)
            continue
        room -= growth if wanted else 0
        _fold(node, folded, context)
    return substitute(graph.with_nodes(kept), folded)


def _weights(graph: Graph) -> set[Value]:
    """The values computed from constants alone that are weights, and those that weights are computed from."""
    known: set[Value] = set()
    for node in graph.nodes:
        if all(v.is_constant or v in known for v in node.present):
            known.update(node.outputs)
    found: set[Value] = set()
    for node in reversed(graph.nodes):
        found.update(v for i in WEIGHTS.get(node.op, ()) if i < len(node.inputs) and (v := node.inputs[i]) in known)
        if any(v in found for v in node.outputs):
            found.update(v for v in node.present if v in known)
    return found


def _is_possible(node: Node, context: Context) -> bool:
    if node.op == FUSED or not all(v.type.is_static for v in node.outputs):
        return False
    if any(isinstance(d, SymDim) for a in node.attrs.values() if isinstance(a, tuple) for d in a):
        return False
    work = _work(node)
    if work > _MAX_WORK.get(node.op, work):
        context.note(f"fold_constants leaves {node!r}: it takes {work} multiplications")
        return False
    return True


def _growth(node: Node, operands: list[Value]) -> int:
    """The bytes that a result takes above those that it replaces, 0 for one that is kept in any case."""
    result = sum(v.type.nbytes for v in node.outputs)
    allowed = sum(v.type.nbytes for v in dict.fromkeys(operands))
    if node.op == "cast" and operands[0].dtype in ("float16", "bfloat16"):
        allowed *= 2
    if node.op == "dequantize_linear" and operands[0].dtype in ("int8", "uint8"):
        allowed *= 4
    small = EXPANDED_BYTES if node.op == "expand" else SMALL_BYTES
    return 0 if result <= max(small, allowed) else result - allowed


def _work(node: Node) -> int:
    """An upper bound of the multiplications of a node that multiplies by its second operand."""
    if node.op not in _MAX_WORK:
        return 0
    first, second = node.present[:2]
    results = sum(prod(v.shape) for v in node.outputs)
    return results * (max(first.shape[-2:]) if node.op in _PRODUCTS else prod(second.shape))


def _fold(node: Node, folded: dict[Value, Value], context: Context) -> None:
    arrays = [None if v is None else context.constants.array(folded.get(v, v)) for v in node.inputs]
    if node.op == "expand" and arrays[0] is not None:
        # What packs it for a kernel need not have all of it in memory.
        spread = np.broadcast_to(arrays[0], node.output.shape)
        folded[node.output] = context.constants.add(spread, node.output.name)
        return
    results = evaluate(node.op, arrays, node.attrs, [v.type for v in node.outputs])
    for v, array in zip(node.outputs, results):
        folded[v] = context.constants.add(array, v.name)
