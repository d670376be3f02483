"""Attention of ONNX Runtime: self-attention whose input is projected by merged weights."""

from __future__ import annotations

import math

from basalt.ops import Dim

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, last_axis_product, merge_heads, quotient, split_heads, wide
from ..dot_product_attention import append_past, attend, attention_scores, masked_softmax
from .attention_masks import bias_of, key_mask

__all__ = ["merged_attention", "scaled_queries"]


@onnx_op("Attention", 1, domain=MICROSOFT)
def attention(n: NodeContext) -> tuple[Tensor, ...]:
    x, weights, bias = n.tensor(0), n.tensor(1), n.optional(2)
    if x.rank != 3 or weights.rank != 2:
        raise n.error(f"input is {x}, weights {weights}; expected ranks 3 and 2")
    work = wide(x.dtype)
    merged = last_axis_product(n, convert(n, x, work), convert(n, weights, work))
    if bias is not None:
        merged = n.emit("add", merged, convert(n, bias, work))
    y, present = merged_attention(n, merged, n.optional(3), n.optional(4), n.optional(5))
    return convert(n, y, x.dtype), convert(n, present, x.dtype)


def merged_attention(
    n: NodeContext, merged: Tensor, mask: Tensor | None, past: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The attention of projected inputs [batch, length, queries + keys + values], and the keys and values for later."""
    for name in ("do_rotary", "past_present_share_buffer"):
        if n.attr(name, 0):
            raise n.unsupported(f"{name} is set")
    heads = n.attr("num_heads")
    sizes = _sizes(n, merged.shape[2])
    starts = (0, sizes[0], sizes[0] + sizes[1])
    parts = [n.slice(merged, 2, start, size) for start, size in zip(starts, sizes)]
    q, k, v = (split_heads(n, part, heads) for part in parts)
    earlier: Dim = 0
    if past is not None:
        if past.rank != 5:
            raise n.error(f"past is {past}, expected [2, batch, heads, length, size]")
        earlier = past.shape[3]
        held = convert(n, past, merged.dtype)
        halves = [n.reshape(n.slice(held, 0, i, 1), past.shape[1:]) for i in (0, 1)]
        k, v = append_past(n, halves[0], k), append_past(n, halves[1], v)
    keys = k.shape[2]
    shown = key_mask(n, mask, q.shape[0], keys)
    added = bias_of(n, merged.dtype, shown, bias, q.shape[2], keys, earlier)
    scores = attention_scores(n, scaled_queries(n, q), k)
    y = attend(n, masked_softmax(n, scores if added is None else n.emit("add", scores, added), None), v)
    return merge_heads(n, y), _present(n, k, v) if n.wants(1) else y


def _sizes(n: NodeContext, total: Dim) -> tuple[Dim, Dim, Dim]:
    """How many columns belong to queries, keys and values."""
    given = n.attr("qkv_hidden_sizes", None)
    if not given:
        third = quotient(n, total, 3, "the number of parts")
        return third, third, third
    if len(given) != 3 or given[0] != given[1] or (isinstance(total, int) and sum(given) != total):
        raise n.error(f"qkv_hidden_sizes is {list(given)}, expected three, the first two equal, of the sum {total}")
    return given[0], given[1], given[2]


def _present(n: NodeContext, k: Tensor, v: Tensor) -> Tensor:
    if k.shape[3] != v.shape[3]:
        raise n.error(f"keys and values of sizes {k.shape[3]} and {v.shape[3]} cannot be one present state")
    return n.emit("concat", *[n.reshape(t, (1, *t.shape)) for t in (k, v)], axis=0)


def scaled_queries(n: NodeContext, q: Tensor) -> Tensor:
    """Queries times the scale of the scores: the attribute, or the reciprocal root of their size."""
    scale = n.attr("scale", None)
    if not scale:
        (size,) = n.static(q.shape[3])
        scale = 1.0 / math.sqrt(max(size, 1))
    return n.emit("mul", q, n.scalar(scale, q))
