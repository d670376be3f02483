"""GroupQueryAttention of ONNX Runtime: attention over a cache of keys and values that the operator itself extends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from basalt.ops import Dim, SymDim

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor, of_elements
from ..building import convert, iota, merge_heads, quotient, split_heads, wide, zeros
from ..dot_product_attention import additive, append_past, attend, attention_scores, position_mask, softcapped
from .attention import scaled_queries
from .rotary import turned

_UNSUPPORTED_INPUTS = {12: "k_scale", 13: "v_scale", 14: "q_norm_weight", 15: "k_norm_weight", 16: "query_seqlens"}


@dataclass(frozen=True)
class _Cache:
    """Where the new tokens go.

    Attributes:
        size: how many tokens there is room for before this step.
        growth: by how much the room grows, where tokens are not just appended.
        first: int32[batch], the place of each sequence's first new token.
        appended: whether that is ``size`` for all of them, and the room grows by the new tokens.
    """

    size: Dim
    growth: int
    first: Tensor
    appended: bool


@onnx_op("GroupQueryAttention", 1, domain=MICROSOFT)
def group_query_attention(n: NodeContext) -> tuple[Tensor, ...]:
    _check(n)
    given = n.tensor(0)
    work = wide(given.dtype)
    q, k, v = (convert(n, t, work) for t in _heads(n))
    cache = _cache(n, q.shape[2])
    q, k = _rotated(n, q, k, cache)
    # Caches stay in their own data type, so that nothing but the new tokens is converted and written.
    present_keys, present_values = (
        _extended(n, n.optional(place), convert(n, new, given.dtype), cache) for place, new in ((3, k), (4, v))
    )
    keys, values = convert(n, present_keys, work), convert(n, present_values, work)
    scores = softcapped(n, attention_scores(n, scaled_queries(n, q), keys), n.attr("softcap", None) or 0.0)
    bias = _bias(n, q.shape[2], keys.shape[2], cache, work)
    if bias is not None:
        scores = n.emit("add", scores, bias)
    weights = _softmax(n, scores)
    y = merge_heads(n, attend(n, weights, values))
    shown = weights if n.attr("qk_output") == 2 else scores
    return convert(n, y, given.dtype), present_keys, present_values, convert(n, shown, given.dtype)


def _check(n: NodeContext) -> None:
    for place, name in _UNSUPPORTED_INPUTS.items():
        if n.given(place):
            raise n.unsupported(f"input {name}")
    if n.attr("sliding_window_cache"):
        raise n.unsupported("sliding_window_cache is set")
    if n.attr("local_window_size") > 0 and not n.attr("causal"):
        raise n.error("local_window_size needs causal attention")


def _heads(n: NodeContext) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = n.tensor(0), n.optional(1), n.optional(2)
    heads, shared = n.attr("num_heads"), n.attr("kv_num_heads")
    if k is not None and v is not None:
        return split_heads(n, q, heads), split_heads(n, k, shared, "kv_num_heads"), split_heads(n, v, shared)
    size = quotient(n, q.shape[2], heads + 2 * shared, "num_heads + 2 * kv_num_heads")
    parts = split_heads(n, q, heads + 2 * shared)
    starts = ((0, heads), (heads, shared), (heads + shared, shared))
    cut = [n.slice(parts, 1, start, count) for start, count in starts]
    assert cut[0].shape[3] == size
    return cut[0], cut[1], cut[2]


def _cache(n: NodeContext, new: Dim) -> _Cache:
    """The cache's sizes, and where new tokens go: a cache has room for them, or grows by as many."""
    lengths, total, past = n.tensor(5), n.tensor(6), n.optional(3)
    size: Dim = 0 if past is None else past.shape[2]
    count = convert(n, _number(n, new), "int32")
    one = n.scalar(1, "int32")
    # A prompt starts at 0, whatever padding follows it.
    behind = n.emit("sub", n.emit("add", lengths, one), count)
    prompt = n.emit("equal", n.reshape(total, ()), count, dtype="bool")
    first = n.emit("where", prompt, n.scalar(0, "int32"), behind)

    def sizes() -> Tensor:
        room = convert(n, _number(n, size), "int32")
        growth = n.emit("max", n.emit("sub", n.reshape(total, ()), room), n.scalar(0, "int32"))
        same = n.emit("logical_and", n.emit("equal", first, room, dtype="bool"), n.emit("equal", growth, count))
        appended = n.emit("reduce_min", convert(n, same, "int32"), axes=(0,))
        other = n.emit("where", n.emit("equal", appended, one), n.scalar(0, "int32"), growth)
        return n.emit("concat", n.reshape(appended, (1,)), n.reshape(other, (1,)), axis=0)

    appended, growth = (int(v) for v in n.decide((lengths, total, size, new), sizes))
    return _Cache(size, growth, first, bool(appended))


def _number(n: NodeContext, size: Dim) -> Tensor:
    return of_elements("int64", np.array(size, dtype=object))


def _rotated(n: NodeContext, q: Tensor, k: Tensor, cache: _Cache) -> tuple[Tensor, Tensor]:
    if not n.attr("do_rotary", 0):
        return q, k
    length = q.shape[2]
    positions = n.optional(9)
    if positions is None or (isinstance(length, int) and length > 1):
        steps = n.reshape(iota(n, length, "int32"), (1, length))
        positions = n.emit("add", steps, n.reshape(cache.first, (*cache.first.shape, 1)))
    cos, sin = n.tensor(7), n.tensor(8)
    (half,) = n.static(cos.shape[-1])
    interleaved = bool(n.attr("rotary_interleaved", 0))
    first, second = (turned(n, x, positions, cos, sin, 2 * half, interleaved) for x in (q, k))
    return first, second


def _extended(n: NodeContext, past: Tensor | None, new: Tensor, cache: _Cache) -> Tensor:
    """The keys or values after this step, [batch, heads, room, head size]."""
    if cache.appended:
        return append_past(n, None if past is None or past.shape[2] == 0 else convert(n, past, new.dtype), new)
    batch, heads, length, size = new.shape
    room = None if past is None else convert(n, past, new.dtype)
    if cache.growth or room is None:
        added = zeros(n, (batch, heads, cache.growth, size), new.dtype)
        room = added if room is None else n.emit("concat", room, added, axis=2)
    steps = n.reshape(iota(n, length, "int32"), (1, 1, length, 1))
    places = n.emit("add", steps, n.reshape(cache.first, (batch, 1, 1, 1)))
    return n.emit("scatter_elements", room, n.expand(places, new.shape), new, axis=2)


def _bias(n: NodeContext, queries: Dim, keys: Dim, cache: _Cache, dtype: str) -> Tensor | None:
    window = n.attr("local_window_size")
    left = window - 1 if window > 0 else -1
    causal = bool(n.attr("causal"))
    if cache.appended and queries == 1 and left < 0:
        allowed = None
    else:
        offset: Tensor | Dim = cache.size if cache.appended else cache.first
        allowed = position_mask(n, queries, keys, offset, causal, left)
    if not causal and not cache.appended:
        # Room that no token has filled is hidden.
        ends = n.emit("add", n.tensor(5), n.scalar(1, "int32"))
        bound = n.reshape(ends, (*ends.shape, 1, 1, 1))
        allowed = n.emit("lesser", iota(n, keys, "int32"), bound, dtype="bool")
    given = n.optional(10)
    parts = [] if allowed is None else [additive(n, allowed, dtype)]
    if given is not None:
        parts.append(_widened_bias(n, convert(n, given, dtype), keys))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else n.emit("add", *parts)


def _widened_bias(n: NodeContext, bias: Tensor, keys: Dim) -> Tensor:
    """A bias with a column for each key that there is room for."""
    if bias.shape[-1] == keys:
        return bias
    missing = keys - bias.shape[-1]
    if isinstance(missing, SymDim):
        (missing,) = n.static(missing)
    if missing < 0:
        return n.slice(bias, bias.rank - 1, 0, keys)
    return n.emit("pad", bias, beginning_padding=(0, 0, 0, 0), ending_padding=(0, 0, 0, missing))


def _softmax(n: NodeContext, scores: Tensor) -> Tensor:
    """The softmax over the keys; a sink, or the smooth form, adds to the divisor (Miller 2023, Xiao et al. 2023)."""
    sink = n.optional(11)
    if sink is None and n.attr("smooth_softmax") != 1:
        return n.emit("softmax", scores, axis=3)
    batch, heads, queries, keys = scores.shape
    extra = n.scalar(0, scores) if sink is None else n.reshape(convert(n, sink, scores.dtype), (1, heads, 1, 1))
    column = n.expand(extra, (batch, heads, queries, 1))
    weights = n.emit("softmax", n.emit("concat", scores, column, axis=3), axis=3)
    return n.slice(weights, 3, 0, keys)
