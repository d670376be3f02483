"""Recognises attention written out as two products with a softmax between them.

One kernel then makes it block of keys by block of keys, and the scores of long sequences, which no cache holds, are
never written to memory.
"""

from __future__ import annotations

from math import prod
from typing import cast

from basalt.ops.dims import Shape
from basalt.ops.shapes import broadcast

from ..ir import Graph, Value
from . import grouped_attention, late_scale
from .attention_parts import DTYPES, LEAST, MOST_WIDTH, keys_of
from .context import Context
from .emitter import Emitter
from .late_scale import unscaled
from .patterns import Match, OpPattern, number, op
from .rewriting import Rewrite, apply_rewrites, index, only_if, rewrite


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


def _masked_twice(scores: OpPattern) -> OpPattern:
    return op("add", _masked(scores), "other", name="outer", commutes=True)


def _chosen(scores: OpPattern) -> OpPattern:
    return op("where", "keep", scores, number("fill"), name="chosen")


def _left_out(scores: OpPattern) -> OpPattern:
    return op("where", "drop", number("fill"), scores, name="chosen")


def _fits(m: Match) -> bool:
    scores, value = m.node("scores").output, m["v"]
    rank = len(scores.shape)
    alike = m["q"].shape[:-2] == m["k"].shape[:-2] == value.shape[:-2] == scores.shape[:-2]
    whole = all(
        m.node(name).output.type == scores.type for name in ("scaled", "masked", "outer", "chosen") if name in m.named
    )
    large = prod(scores.shape) >= LEAST and value.shape[-1] <= MOST_WIDTH
    divides = "divisor" not in m.values or m.number("divisor") != 0
    over_keys = m.node("softmax").attrs["axis"] == rank - 1
    return alike and whole and large and divides and over_keys and scores.dtype in DTYPES


def _adds_small_masks(m: Match) -> bool:
    """Whether the sum of two masks, if there are two, is no larger than one of them."""
    if "other" not in m.values:
        return True
    some, other = m["mask"].shape, m["other"].shape
    return _elements(broadcast(some, other)) <= max(_elements(some), _elements(other))


def _elements(shape: Shape) -> int:
    return prod(cast("tuple[int, ...]", shape))


def _alone(m: Match) -> bool:
    return all(m.alone(name) for name in m.named)


_GUARDS = (only_if(_fits), only_if(_adds_small_masks), ("other nodes read what is between the products", _alone))


def _emitted(m: Match, e: Emitter, scale: float = 1.0) -> Value:
    (q, q_scale), (k, k_scale) = (unscaled(m, e, m[name]) for name in "qk")
    made = next((node for node in e.nodes if node.outputs[0] is k), None)
    keys = keys_of(k, e, made or m.graph.producer(k))
    options = {"scale": scale * q_scale * k_scale}
    if "chosen" not in m.named:
        return e.emit("attention", q, keys, m["v"], _mask(m, e), **options)
    keep = e.cast(m["keep"] if "keep" in m.values else e.emit("logical_not", m["drop"]), "uint8")
    return e.emit("attention", q, keys, m["v"], _mask(m, e), keep, fill=float(m.number("fill")), **options)


def _mask(m: Match, e: Emitter) -> Value | None:
    """The only mask, or the sum of two."""
    mask, other = m.values.get("mask"), m.values.get("other")
    return mask if mask is None or other is None else e.emit("add", mask, other)


def _rule(name: str, scores: OpPattern, reason: str) -> Rewrite:
    def fused(m: Match, e: Emitter) -> Value:
        scale = float(m.number("factor")) if "factor" in m.values else 1.0
        return _emitted(m, e, scale / float(m.number("divisor")) if "divisor" in m.values else scale)

    fused.__name__, fused.__doc__ = name, reason
    return rewrite(_attention(scores), *_GUARDS, exact=False)(fused)


REWRITES = tuple(
    _rule(name + suffix, masked(scores), f"Softmax of {what}{mask}, times values.")
    for masked, suffix, mask in (
        (lambda scores: scores, "", ""),
        (_masked, "_and_masked", " and a mask"),
        (_masked_twice, "_and_masked_twice", " and two masks"),
        (_chosen, "_and_chosen", ", some of them replaced by a number"),
        (_left_out, "_and_left_out", ", some of them replaced by a number"),
        (lambda scores: _chosen(_masked(scores)), "_masked_and_chosen", " and a mask, some replaced by a number"),
    )
    for name, scores, what in (
        ("plain", _SCORES, "scores"),
        ("scaled", _SCALED, "scores times a number"),
        ("divided", _DIVIDED, "scores divided by a number"),
    )
)
_RULES = index((*REWRITES, *grouped_attention.REWRITES, *late_scale.REWRITES))
