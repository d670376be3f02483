"""Attention: a product with keys, softmax, and a product with values, as one operator."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..convert import double, number
from ..dims import Dim, product
from ..registry import register_extension
from ..rounding import narrow, widen
from ..schema import MAX_RANK, Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import broadcastable_to, check_shape, expect_shape, same_dim, same_shape, text
from ..types import FLOATS, TensorType


@register_extension
class Attention(Operator):
    """Scaled dot-product attention: ``softmax(query . transpose(key) * scale + mask) . value``.

    With queries [..., s, d], keys [..., t, d] and values [..., t, e] the output is [..., s, e]. A leading dimension
    of keys or values that is 1 serves all queries along it (grouped-query attention: Ainslie et al., 2023). Softmax is
    over the keys; a row whose every score is minus infinity gives NaN. The mask is added to the scores [..., s, t], to
    which it is broadcast; then a score becomes ``fill`` where ``keep``, broadcast as well, is 0. Keys that are hidden
    by minus infinity weigh nothing; whether a NaN or an infinity among them makes a result NaN is left open. Source:
    Vaswani et al., "Attention Is All You Need", 2017.
    """

    name = "attention"
    operands = (
        Operand("query", FLOATS, (2, MAX_RANK), doc="the queries, [..., s, d]"),
        Operand("key", "query", "query", doc="the keys, [..., t, d]"),
        Operand("value", "query", "query", doc="the values, [..., t, e]"),
        Operand("mask", "query", (0, MAX_RANK), optional=True, doc="what is added to the scores [..., s, t]"),
        Operand("keep", frozenset({"uint8"}), (0, MAX_RANK), optional=True, doc="which scores stay, [..., s, t]"),
    )
    options = (
        Option("scale", double, 1.0, "factor of the scores, before the mask"),
        Option("fill", number, -math.inf, "what scores that do not stay become"),
    )
    outputs = (Output(dtypes="query", rank="query"),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        *batches, rows, depth = t.query.shape
        *_, keys, width = t.value.shape
        expect_shape("key", t.key.shape, (*_shared(t.key, batches), keys, depth))
        if not same_shape(tuple(t.value.shape[:-2]), _shared(t.value, batches)) or not same_dim(keys, t.key.shape[-2]):
            fail(f"value has shape {text(t.value.shape)}, expected {text((*batches, t.key.shape[-2], width))}")
        scores = (*batches, rows, keys)
        for name, given in (("mask", t.mask), ("keep", t.keep)):
            if given is not None and not broadcastable_to(given.shape, scores):
                fail(f"{name} has shape {text(given.shape)}, expected one that broadcasts to {text(scores)}")
        return [TensorType(t.query.dtype, check_shape((*batches, rows, width), zero=True))]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        depth = t.query.shape[-1]
        return product(t.query.shape[:-1]) * t.key.shape[-2] * (2 * depth + 2 * t.value.shape[-1] + 4)

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        with np.errstate(all="ignore"):
            scores = np.matmul(widen(x.query), widen(x.key).swapaxes(-1, -2)) * a["scale"]
            if x.mask is not None:
                scores = scores + widen(x.mask)
            if x.keep is not None:
                scores = np.where(np.asarray(x.keep) != 0, scores, np.asarray(a["fill"], scores.dtype))
            best = scores.max(-1, keepdims=True, initial=-np.inf)
            weights = np.exp(scores - best)
            return [narrow(np.matmul(weights / weights.sum(-1, keepdims=True), widen(x.value)), out[0])]


def _shared(given: TensorType, batches: Sequence[Dim]) -> tuple[Dim, ...]:
    """The leading dimensions that keys or values should have: those of the queries, or 1 where they have that."""
    own = given.shape[:-2]
    return tuple(1 if len(own) == len(batches) and own[i] == 1 else d for i, d in enumerate(batches))
