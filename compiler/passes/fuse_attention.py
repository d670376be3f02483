"""Recognises attention written out as two products with a softmax between them.

One kernel then makes it block of keys by block of keys, and the scores of long sequences, which no cache holds, are
never written to memory.
"""

from __future__ import annotations

from math import prod

from ..ir import Graph, Value
from .context import Context
from .emitter import Emitter
from .patterns import Match, OpPattern, number, op
from .rewriting import apply_rewrites, index, only_if, rewrite

LEAST = 1 << 20
"""Scores from which on they fit no second-level cache: below, kernels of their own are as fast."""
MOST_WIDTH = 256
"""Features of a value whose sums fit the stack of a thread."""
_DTYPES = ("float32", "float64")


def fuse_attention(graph: Graph, context: Context) -> Graph:
    """The graph with attention as one operator."""
    return apply_rewrites(graph, context, _RULES, "fuse_attention")


_SCORES = op("matmul", "q", "k", name="scores")
_SCALED = op("mul", _SCORES, number("factor"), name="scaled", commutes=True)
_DIVIDED = op("div", _SCORES, number("divisor"), name="scaled")


def _attention(scores: OpPattern) -> OpPattern:
    return op("matmul", op("softmax", scores, name="softmax"), "v")


def _masked(scores: OpPattern) -> OpPattern:
    return op("add", scores, "mask", name="masked", commutes=True)


def _fits(m: Match) -> bool:
    scores, value = m.node("scores").output, m["v"]
    rank = len(scores.shape)
    alike = m["q"].shape[:-2] == m["k"].shape[:-2] == value.shape[:-2] == scores.shape[:-2]
    whole = all(m.node(name).output.type == scores.type for name in ("scaled", "masked") if name in m.named)
    large = prod(scores.shape) >= LEAST and value.shape[-1] <= MOST_WIDTH
    over_keys = m.node("softmax").attrs["axis"] == rank - 1
    return alike and whole and large and over_keys and scores.dtype in _DTYPES


def _alone(m: Match) -> bool:
    return all(m.alone(name) for name in m.named)


_GUARDS = (only_if(_fits), ("other nodes read what is between the products", _alone))


def _keys(m: Match, e: Emitter) -> Value:
    """The keys [..., t, d], of which the product has the transpose."""
    k = m["k"]
    rank = len(k.shape)
    swap = (*range(rank - 2), rank - 1, rank - 2)
    producer = m.graph.producer(k)
    if producer is not None and producer.op == "transpose" and tuple(producer.attrs["permutation"]) == swap:
        return producer.present[0]
    return e.emit("transpose", k, permutation=swap)


def _emitted(m: Match, e: Emitter, scale: float = 1.0) -> Value:
    return e.emit("attention", m["q"], _keys(m, e), m["v"], m.values.get("mask"), scale=scale)


def _scale(m: Match) -> float:
    return float(m.number("factor")) if "factor" in m.values else 1.0 / float(m.number("divisor"))


@rewrite(_attention(_SCORES), *_GUARDS, exact=False)
def plain(m: Match, e: Emitter) -> Value:
    """Softmax of scores, times values."""
    return _emitted(m, e)


@rewrite(_attention(_SCALED), *_GUARDS, exact=False)
def scaled(m: Match, e: Emitter) -> Value:
    """The scores times a number."""
    return _emitted(m, e, _scale(m))


@rewrite(_attention(_DIVIDED), *_GUARDS, only_if(lambda m: m.number("divisor") != 0), exact=False)
def divided(m: Match, e: Emitter) -> Value:
    """The scores divided by a number."""
    return _emitted(m, e, _scale(m))


@rewrite(_attention(_masked(_SCORES)), *_GUARDS, exact=False)
def masked(m: Match, e: Emitter) -> Value:
    """The scores and a mask."""
    return _emitted(m, e)


@rewrite(_attention(_masked(_SCALED)), *_GUARDS, exact=False)
def scaled_and_masked(m: Match, e: Emitter) -> Value:
    """The scores times a number, and a mask."""
    return _emitted(m, e, _scale(m))


@rewrite(_attention(_masked(_DIVIDED)), *_GUARDS, only_if(lambda m: m.number("divisor") != 0), exact=False)
def divided_and_masked(m: Match, e: Emitter) -> Value:
    """The scores divided by a number, and a mask."""
    return _emitted(m, e, _scale(m))


REWRITES = (plain, scaled, divided, masked, scaled_and_masked, divided_and_masked)
_RULES = index(REWRITES)
