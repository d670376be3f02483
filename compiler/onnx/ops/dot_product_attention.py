"""Scaled dot-product attention (Vaswani et al. 2017) out of core operators, with heads shared by groups of queries.

Queries are ``[batch, heads, queries, size]``, keys and values ``[batch, kv_heads, keys, size]``: each key head serves
``heads / kv_heads`` query heads that follow each other (Ainslie et al. 2023).
"""

from __future__ import annotations

import numpy as np

from basalt.ops import Dim, SymDim

from ..node import NodeContext
from ..tensor import Tensor
from .building import convert, iota
from .softmax import softmax_of

__all__ = [
    "additive",
    "append_past",
    "attend",
    "attention_scores",
    "masked_softmax",
    "position_mask",
    "sequence_mask",
    "softcapped",
]


def attention_scores(n: NodeContext, q: Tensor, k: Tensor) -> Tensor:
    """The products of all queries with all keys, ``[batch, heads, queries, keys]``."""
    return _grouped(n, q, n.transpose(k, (0, 1, 3, 2)), "query")


def attend(n: NodeContext, weights: Tensor, v: Tensor) -> Tensor:
    """The values weighted, ``[batch, heads, queries, value_size]``."""
    return _grouped(n, weights, v, "value")


def _grouped(n: NodeContext, a: Tensor, b: Tensor, what: str) -> Tensor:
    """``a @ b`` where each matrix of ``b`` serves a group of ``a``'s, whose rows become those of one product."""
    batch, heads, rows, _ = a.shape
    shared = b.shape[1]
    if heads == shared or shared == 1:
        return n.emit("matmul", a, b)
    if isinstance(heads, SymDim) or isinstance(shared, SymDim):
        n.static(heads, shared)
    if heads % shared:
        raise n.error(f"{heads} {what} heads cannot share {shared} key heads evenly")
    group = heads // shared
    product = n.emit("matmul", n.reshape(a, (batch, shared, group * rows, a.shape[3])), b)
    return n.reshape(product, (batch, heads, rows, b.shape[3]))


def softcapped(n: NodeContext, scores: Tensor, cap: float) -> Tensor:
    """``cap * tanh(scores / cap)``; the scores themselves without a cap."""
    if not cap:
        return scores
    limit = n.scalar(cap, scores)
    return n.emit("mul", n.emit("tanh", n.emit("div", scores, limit)), limit)


def position_mask(
    n: NodeContext, queries: Dim, keys: Dim, offset: Tensor | Dim, causal: bool, left: int = -1, right: int = -1
) -> Tensor | None:
    """Which keys each query may see by their positions, as bool of shape [..., queries, keys]; None for all.

    Args:
        n: the node.
        queries, keys: how many there are.
        offset: the position of the first query: a number, or int32[batch] for one of each batch entry, which gives a
            mask of shape [batch, 1, queries, keys].
        causal: whether later keys are hidden.
        left, right: how far back and ahead a query sees; -1 for any distance.
    """
    if not causal and left < 0 and right < 0:
        return None
    places = n.reshape(iota(n, queries, "int32"), (queries, 1))
    if isinstance(offset, Tensor):
        offset = n.reshape(offset, (*offset.shape, 1, 1, 1))
        places = n.emit("add", places, offset)
    elif isinstance(offset, SymDim) or offset:
        places = n.emit("add", places, convert(n, _dim_tensor(n, offset), "int32"))
    others = iota(n, keys, "int32")
    rules = []
    if causal:
        rules.append(n.emit("lesser_or_equal", others, places, dtype="bool"))
    if left >= 0:
        nearest = n.emit("sub", places, n.scalar(left, "int32"))
        rules.append(n.emit("greater_or_equal", others, nearest, dtype="bool"))
    if right >= 0 and not (causal and right >= 0):
        farthest = n.emit("add", places, n.scalar(right, "int32"))
        rules.append(n.emit("lesser_or_equal", others, farthest, dtype="bool"))
    allowed = rules[0]
    for rule in rules[1:]:
        allowed = n.emit("logical_and", allowed, rule, dtype="bool")
    return allowed


def sequence_mask(n: NodeContext, lengths: Tensor, keys: Dim) -> Tensor:
    """Which keys are no padding, bool[batch, 1, 1, keys], by the number of those that are none, [batch]."""
    bound = n.reshape(convert(n, lengths, "int32"), (lengths.shape[0], 1, 1, 1))
    return n.emit("lesser", iota(n, keys, "int32"), bound, dtype="bool")


def additive(n: NodeContext, allowed: Tensor, dtype: str, hidden: float = -np.inf) -> Tensor:
    """0 where a mask is true, ``hidden`` elsewhere."""
    return n.emit("where", allowed, n.scalar(0, dtype), n.scalar(hidden, dtype))


def masked_softmax(n: NodeContext, scores: Tensor, bias: Tensor | None, precision: str = "") -> Tensor:
    """The softmax of ``scores + bias`` over the keys, 0 for queries whose keys are all hidden (a bias of -infinity).

    Args:
        n: the node.
        scores: ``[batch, heads, queries, keys]``.
        bias: what is added, of a shape that broadcasts to the scores'; None for nothing, or if no row is hidden.
        precision: the data type of the softmax; the scores' by default.
    """
    total = scores if bias is None else n.emit("add", scores, bias)
    weights = softmax_of(n, convert(n, total, precision or scores.dtype), total.rank - 1)
    if bias is None:
        return weights
    top = n.emit("reduce_max", bias, axes=(bias.rank - 1,), keep_dimensions=True)
    hidden = n.emit("equal", top, n.scalar(-np.inf, bias), dtype="bool")
    return n.emit("where", hidden, n.scalar(0, weights), weights)


def append_past(n: NodeContext, past: Tensor | None, present: Tensor) -> Tensor:
    """Earlier keys or values followed by the new ones."""
    return present if past is None else n.emit("concat", past, present, axis=2)


def _dim_tensor(n: NodeContext, size: Dim) -> Tensor:
    from ..tensor import of_elements

    return of_elements("int64", np.array(size, dtype=object))
