"""Computes what depends on constants alone, as long as the results are no larger than what they replace."""

from __future__ import annotations

from math import prod

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
    for node in graph.nodes:
        operands = [folded.get(v, v) for v in node.present]
        if not all(v.is_constant for v in operands) or not _is_worth(node, operands, context):
            kept.append(node)
            continue
        if not context.allow(f"fold_constants at {node!r}"):
            kept.append(node)
            continue
        _fold(node, folded, context)
    return substitute(graph.with_nodes(kept), folded)


def _is_worth(node: Node, operands: list[Value], context: Context) -> bool:
    if node.op == FUSED or not all(v.type.is_static for v in node.outputs):
        return False
    if any(isinstance(d, SymDim) for a in node.attrs.values() if isinstance(a, tuple) for d in a):
        return False
    work = _work(node)
    if work > _MAX_WORK.get(node.op, work):
        context.note(f"fold_constants leaves {node!r}: it takes {work} multiplications")
        return False
    result = sum(v.type.nbytes for v in node.outputs)
    allowed = sum(v.type.nbytes for v in dict.fromkeys(operands))
    if node.op == "cast" and operands[0].dtype in ("float16", "bfloat16"):
        allowed *= 2
    if node.op == "dequantize_linear" and operands[0].dtype in ("int8", "uint8"):
        allowed *= 4
    if result > max(EXPANDED_BYTES if node.op == "expand" else SMALL_BYTES, allowed):
        context.note(f"fold_constants leaves {node!r}: {result} bytes would replace {allowed}")
        return False
    return True


def _work(node: Node) -> int:
    """An upper bound of the multiplications of a node that multiplies by its second operand."""
    if node.op not in _MAX_WORK:
        return 0
    first, second = node.present[:2]
    results = sum(prod(v.shape) for v in node.outputs)
    return results * (max(first.shape[-2:]) if node.op in _PRODUCTS else prod(second.shape))


def _fold(node: Node, folded: dict[Value, Value], context: Context) -> None:
    arrays = [None if v is None else context.constants.array(folded.get(v, v)) for v in node.inputs]
    results = evaluate(node.op, arrays, node.attrs, [v.type for v in node.outputs])
    for v, array in zip(node.outputs, results):
        folded[v] = context.constants.add(array, v.name)
