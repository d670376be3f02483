"""Recognises attention whose keys serve groups of heads: their queries are rows of one product.

Between the products, scores have a dimension for each head, so that masks fit; reshapes stand around that.
"""

from __future__ import annotations

from math import prod

from basalt.ops.dims import Shape

from ..ir import Value
from .attention_parts import DTYPES, LEAST, MOST_WIDTH, keys_of
from .emitter import Emitter
from .patterns import Match, OpPattern, op
from .rewriting import Rewrite, only_if, rewrite

__all__ = ["REWRITES"]

_SCORES = op("reshape", op("matmul", "q", "k", name="product"), name="scores")


def _attention(scores: OpPattern) -> OpPattern:
    return op("matmul", op("reshape", op("softmax", scores, name="softmax"), name="weights"), "v")


def _fits(m: Match) -> bool:
    product, scores = m.node("product").output, m.node("scores").output
    if len(product.shape) != 4 or len(scores.shape) != 4 or scores.dtype not in DTYPES:
        return False
    batch, shared, _, keys = product.shape
    _, heads, queries, _ = scores.shape
    grouped = scores.shape == (batch, heads, queries, keys) and heads % shared == 0
    alike = m["k"].shape[:2] == m["v"].shape[:2] == m["q"].shape[:2] == (batch, shared) and m["v"].shape[2] == keys
    whole = m.node("weights").output.shape == product.shape and m.node("softmax").attrs["axis"] == 3
    masked = "masked" not in m.named or m.node("masked").output.type == scores.type
    large = prod(scores.shape) >= LEAST and m["v"].shape[-1] <= MOST_WIDTH
    # The rows are as many as the sizes say: a reshape keeps the elements.
    return grouped and alike and whole and masked and large


def _alone(m: Match) -> bool:
    return all(m.alone(name) for name in m.named)


def _mask(e: Emitter, mask: Value, shared: int) -> Value:
    """A mask of scores [batch, heads, queries, keys] with the heads split in groups."""
    shape: Shape = (1,) * (4 - len(mask.shape)) + tuple(mask.shape)
    batch, heads, *rest = shape
    groups = (1, 1) if heads == 1 else (shared, heads // shared)
    return e.reshape(mask, (batch, *groups, *rest))


def _emitted(m: Match, e: Emitter) -> Value:
    batch, shared, _, keys = m.node("product").output.shape
    heads, queries = m.node("scores").output.shape[1:3]
    q = e.reshape(m["q"], (batch, shared, heads // shared, queries, m["q"].shape[3]))
    k = keys_of(m["k"], e, m.graph.producer(m["k"]))
    k, v = (e.reshape(x, (batch, shared, 1, keys, x.shape[3])) for x in (k, m["v"]))
    masks = [_mask(e, m["mask"], shared)] if "mask" in m.values else []
    return e.reshape(e.emit("attention", q, k, v, *masks), m.output.shape)


def _rule(name: str, scores: OpPattern, reason: str) -> Rewrite:
    def fused(m: Match, e: Emitter) -> Value:
        return _emitted(m, e)

    fused.__name__, fused.__doc__ = name, reason
    guards = (only_if(_fits), ("other nodes read what is between the products", _alone))
    return rewrite(_attention(scores), *guards, exact=False)(fused)


REWRITES = (
    _rule("grouped", _SCORES, "Softmax of the scores of groups of heads, times values that they share."),
    _rule(
        "grouped_and_masked",
        op("add", _SCORES, "mask", name="masked", commutes=True),
        "Softmax of the scores of groups of heads and a mask, times values that they share.",
    ),
)
