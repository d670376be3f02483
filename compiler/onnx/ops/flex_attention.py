"""FlexAttention of ai.onnx.preview: attention whose scores and probabilities a model may change by graphs of its own.

Such a node is replaced by the steps of the computation, as operators of a domain that no model names, and the graphs'
nodes between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from basalt.serialization.onnx import OnnxAttribute, OnnxGraph, OnnxNode

from ..attributes import dtype_of_code
from ..node import NodeContext
from ..registry import expands, onnx_op
from ..tensor import Tensor
from .dot_product_attention import attend, attention_scores
from .softmax import softmax_of

PREVIEW = "ai.onnx.preview"
STEPS = "basalt.flex_attention"
"""The domain of the steps: Scores, Modify, Softmax and Values."""


@onnx_op("FlexAttention", 1, domain=PREVIEW)
def flex_attention(n: NodeContext) -> Tensor:
    """The values weighted by the softmax of the scaled products of queries and keys, without changes to either."""
    return values_of(n, softmax_of(n, scores_of(n), 3), n.tensor(2))


@expands("FlexAttention", domain=PREVIEW)
def steps(node: OnnxNode, attributes: Mapping[str, Any], version: int) -> Sequence[OnnxNode] | None:
    """The steps with the node's graphs between them, None for a node without graphs."""
    if not ("score_mod" in attributes or "prob_mod" in attributes) or len(node.inputs) != 3 or not node.outputs:
        return None
    queries, keys, values = node.inputs
    settings = {name: a for name, a in node.attributes.items() if name in ("scale", "softmax_precision")}

    def step(op_type: str, inputs: tuple[str, ...], output: str, attributes: dict[str, OnnxAttribute]) -> OnnxNode:
        return OnnxNode(op_type, inputs, (output,), attributes, STEPS, node.name or node.outputs[0])

    def modify(name: str, given: str, output: str) -> OnnxNode:
        held = {"body": OnnxAttribute("body", "GRAPH", attributes[name])} if name in attributes else {}
        return step("Modify", (given,), output, held)

    # These must not hide values that the node's graphs take from outside: no writer of models uses such names.
    scores, modified, softmax, weights = (f"\x00{name}" for name in ("scores", "modified", "softmax", "weights"))
    return [
        step("Scores", (queries, keys), scores, settings),
        modify("score_mod", scores, modified),
        step("Softmax", (modified,), softmax, {}),
        modify("prob_mod", softmax, weights),
        step("Values", (weights, values), node.outputs[0], {}),
    ]


@expands("Modify", domain=STEPS)
def modification(node: OnnxNode, attributes: Mapping[str, Any], version: int) -> Sequence[OnnxNode] | None:
    """The nodes of the graph in the attribute ``body`` between its input and its output, None without one."""
    body = attributes.get("body")
    if not isinstance(body, OnnxGraph) or len(body.inputs) != 1 or len(body.outputs) != 1:
        return None
    constants = [
        OnnxNode("Constant", (), (t.name,), {"value": OnnxAttribute("value", "TENSOR", t)}) for t in body.initializers
    ]
    constants += [
        OnnxNode("Constant", (), (t.values.name,), {"sparse_value": OnnxAttribute("sparse_value", "SPARSE_TENSOR", t)})
        for t in body.sparse_initializers
    ]
    first = OnnxNode("Identity", node.inputs, (body.inputs[0].name,))
    last = OnnxNode("Identity", (body.outputs[0].name,), node.outputs)
    return [first, *constants, *body.nodes, last]


@onnx_op("Modify", 1, domain=STEPS)
def unmodified(n: NodeContext) -> Tensor:
    """The tensor itself, for a node without a graph."""
    if n.has("body"):
        raise n.error("score_mod and prob_mod are expected to have one input and one output each")
    return n.tensor(0)


@onnx_op("Scores", 1, domain=STEPS)
def scores_of(n: NodeContext) -> Tensor:
    """``scale * Q K^T`` in the type of the softmax; each factor gets the scale's root, in the type of the queries."""
    q, k = n.tensor(0), n.tensor(1)
    if q.rank != 4 or k.rank != 4:
        raise n.error(f"Q is {q} and K {k}, expected tensors of rank 4")
    scale = n.attr("scale", None)
    if scale is None:
        (size,) = n.static(q.shape[3])
        scale = 1 / np.sqrt(size)
    root = n.scalar(float(np.sqrt(np.float32(scale))), like=q)
    products = attention_scores(n, n.emit("mul", q, root), n.emit("mul", k, root))
    precision = n.attr("softmax_precision", None)
    default = "float64" if q.dtype == "float64" else "float32"
    return n.cast(products, default if precision is None else dtype_of_code(precision))


@onnx_op("Softmax", 1, domain=STEPS)
def softmax_step(n: NodeContext) -> Tensor:
    """The softmax along the keys."""
    return softmax_of(n, n.tensor(0), n.tensor(0).rank - 1)


@onnx_op("Values", 1, domain=STEPS)
def values_step(n: NodeContext) -> Tensor:
    """The values weighted, in their type."""
    return values_of(n, n.tensor(0), n.tensor(1))


def values_of(n: NodeContext, probabilities: Tensor, values: Tensor) -> Tensor:
    """The values [batch, heads, keys, size] weighted by probabilities of any float type."""
    if values.rank != 4:
        raise n.error(f"V is {values}, expected a tensor of rank 4")
    return attend(n, n.cast(probabilities, values.dtype), values)
