"""MultiHeadAttention of ONNX Runtime, and DecoderMaskedMultiHeadAttention: the same for one query a sequence."""

from __future__ import annotations

from dataclasses import dataclass

from basalt.ops import Dim

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, merge_heads, split_heads, wide
from ..dot_product_attention import append_past, attend, attention_scores, masked_softmax
from .attention import scaled_queries
from .attention_masks import bias_of, key_mask


@dataclass(frozen=True)
class _Inputs:
    """Where the operands are, which the two operators give in different orders."""

    bias: int
    mask: int
    added: int
    past_key: int
    past_length: int
    beams: tuple[int, ...]


_MULTI_HEAD = _Inputs(bias=3, mask=4, added=5, past_key=6, past_length=8, beams=(9,))
_DECODER = _Inputs(bias=10, mask=3, added=4, past_key=5, past_length=7, beams=(9,))


@onnx_op("MultiHeadAttention", 1, domain=MICROSOFT)
def multi_head_attention(n: NodeContext) -> tuple[Tensor, ...]:
    return _attention(n, _MULTI_HEAD)


@onnx_op("DecoderMaskedMultiHeadAttention", 1, domain=MICROSOFT)
def decoder_masked_multi_head_attention(n: NodeContext) -> tuple[Tensor, ...]:
    if n.attr("past_present_share_buffer", 0):
        raise n.unsupported("past_present_share_buffer is set")
    return _attention(n, _DECODER)


def _attention(n: NodeContext, at: _Inputs) -> tuple[Tensor, ...]:
    given = n.tensor(0)
    work = wide(given.dtype)
    if any(n.given(i) for i in (at.past_length, *at.beams)):
        raise n.unsupported("keys and values in a shared buffer (past_sequence_length, cache_indirection)")
    q, k, v = _heads(n, at, work)
    past_key, past_value = (n.optional(at.past_key + i) for i in (0, 1))
    earlier: Dim = 0
    if past_key is not None and past_value is not None:
        earlier = past_key.shape[2]
        k = append_past(n, convert(n, past_key, work), k)
        v = append_past(n, convert(n, past_value, work), v)
    keys = k.shape[2]
    shown = key_mask(n, n.optional(at.mask), q.shape[0], keys)
    added = bias_of(n, work, shown, n.optional(at.added), q.shape[2], keys, earlier)
    scores = attention_scores(n, scaled_queries(n, q), k)
    total = scores if added is None else n.emit("add", scores, added)
    y = attend(n, masked_softmax(n, total, None), v)
    return tuple(convert(n, t, given.dtype) for t in (merge_heads(n, y), k, v, scores))


def _heads(n: NodeContext, at: _Inputs, dtype: str) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values [batch, heads, length, size] out of their packed forms, with their biases."""
    heads = n.attr("num_heads")
    q, k, v, bias = convert(n, n.tensor(0), dtype), n.optional(1), n.optional(2), n.optional(at.bias)
    k, v = (None if t is None else convert(n, t, dtype) for t in (k, v))
    if q.rank == 5:
        parts = _unpacked(n, q, 3)
    elif k is not None and k.rank == 5:
        parts = [split_heads(n, q, heads), *_unpacked(n, k, 2)]
    elif k is None:
        third = q.shape[2] // 3
        parts = [split_heads(n, n.slice(q, 2, i * third, third), heads) for i in range(3)]
    elif v is None:
        raise n.error("key is given without value")
    else:
        parts = [split_heads(n, t, heads) if t.rank == 3 else t for t in (q, k, v)]
    if bias is None:
        return parts[0], parts[1], parts[2]
    start: Dim = 0
    done = []
    for part, original in zip(parts, (q, k, v)):
        columns = part.shape[1] * part.shape[3]
        cut = n.reshape(n.slice(convert(n, bias, dtype), 0, start, columns), (1, part.shape[1], 1, part.shape[3]))
        # Keys and values that come with heads are those of a cache, which hold their biases already.
        cached = original is not None and original.rank == 4
        done.append(part if cached else n.emit("add", part, cut))
        start = start + columns
    return done[0], done[1], done[2]


def _unpacked(n: NodeContext, x: Tensor, count: int) -> list[Tensor]:
    """The tensors [batch, heads, length, size] that are packed as [batch, length, heads, count, size]."""
    batch, length, heads, parts, size = x.shape
    if parts != count:
        raise n.error(f"{x} packs {parts} tensors, expected {count}")
    cut = [n.reshape(n.slice(x, 3, i, 1), (batch, length, heads, size)) for i in range(count)]
    return [n.transpose(t, (0, 2, 1, 3)) for t in cut]
