"""Attention of ai.onnx: multi-head and grouped-query attention over masks, caches, windows."""

from __future__ import annotations

import math

import numpy as np

from basalt.ops import Dim, SymDim

from ..attributes import dtype_of_code
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .building import convert, merge_heads, split_heads
from .dot_product_attention import (
    additive,
    append_past,
    attend,
    attention_scores,
    masked_softmax,
    position_mask,
    sequence_mask,
    softcapped,
)

_SOFTMAX_TYPES = ("float32", "float16", "float64", "bfloat16")


@onnx_op("Attention", 23, 24, 25)
def attention(n: NodeContext) -> tuple[Tensor, ...]:
    q, k, v, flat = _heads(n)
    past_key, past_value = n.optional(4), n.optional(5)
    if (past_key is None) != (past_value is None):
        raise n.error("past_key and past_value must be given together")
    if past_key is not None and n.given(6):
        raise n.error("nonpad_kv_seqlen is given beside past_key; expected only one of them")
    present_key, present_value = append_past(n, past_key, k), append_past(n, past_value, v)
    scores = attention_scores(n, *_scaled(n, q, present_key))
    capped = softcapped(n, scores, max(n.attr("softcap"), 0.0))
    offset: Dim = past_key.shape[2] if past_key is not None else 0
    bias, hides = _bias(n, q, present_key.shape[2], offset)
    precision = _precision(n)
    if bias is not None and not hides:
        weights = masked_softmax(n, n.emit("add", capped, bias), None, precision)
    else:
        weights = masked_softmax(n, capped, bias, precision)
    weights = convert(n, weights, q.dtype)
    y = _weighted(n, weights, present_value)
    shown = _shown_scores(n, scores, capped, bias, weights) if n.wants(3) else scores
    return merge_heads(n, y) if flat else y, present_key, present_value, shown


def _heads(n: NodeContext) -> tuple[Tensor, Tensor, Tensor, bool]:
    """Queries, keys and values with an axis for heads, and whether they came without."""
    q, k, v = n.tensor(0), n.tensor(1), n.tensor(2)
    if not q.rank == k.rank == v.rank or q.rank not in (3, 4):
        raise n.error(f"Q, K and V have ranks {q.rank}, {k.rank}, {v.rank}; expected 3 or 4 for all of them")
    if q.rank == 4:
        return q, k, v, False
    heads, shared = n.attr("q_num_heads", None), n.attr("kv_num_heads", None)
    if not heads or not shared:
        raise n.error("inputs of rank 3 need the attributes q_num_heads and kv_num_heads")
    return (
        split_heads(n, q, heads, "q_num_heads"),
        split_heads(n, k, shared, "kv_num_heads"),
        split_heads(n, v, shared, "kv_num_heads"),
        True,
    )


def _scaled(n: NodeContext, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys whose products are the scaled scores."""
    scale = n.attr("scale", None)
    if scale is None:
        (size,) = n.static(q.shape[3])
        scale = 1.0 / math.sqrt(size) if size else 1.0
    if q.dtype in ("float32", "float64") or scale <= 0:
        return n.emit("mul", q, n.scalar(scale, q)), k
    # Each takes half the scale, as the standard says, so that products of short floats do not overflow.
    half = n.scalar(math.sqrt(scale), q)
    return n.emit("mul", q, half), n.emit("mul", k, half)


def _precision(n: NodeContext) -> str:
    code = n.attr("softmax_precision", None)
    if code is None:
        return ""
    dtype = dtype_of_code(code)
    if dtype not in _SOFTMAX_TYPES:
        raise n.error(f"softmax_precision is {dtype}, expected one of {', '.join(_SOFTMAX_TYPES)}")
    return dtype


def _bias(n: NodeContext, q: Tensor, keys: Dim, past: Dim) -> tuple[Tensor | None, bool]:
    """What is added to the scores, and whether it may hide all keys of a query."""
    left, right = n.attr("left_window_size", -1), n.attr("right_window_size", -1)
    for name, size in (("left_window_size", left), ("right_window_size", right)):
        if size < -1:
            raise n.error(f"{name} is {size}, expected at least -1")
    queries, causal = q.shape[2], bool(n.attr("is_causal"))
    lengths = n.optional(6)
    offset: Tensor | Dim = past
    if lengths is not None and (causal or left >= 0 or right >= 0):
        steps = convert(n, lengths, "int32")
        offset = n.emit("sub", steps, convert(n, n.constant(_size(n, queries)), "int32"))
    parts = []
    hides = True
    mask = n.optional(3)
    if mask is not None:
        parts.append(_mask_bias(n, mask, keys, q.dtype))
    allowed = position_mask(n, queries, keys, offset, causal, left, right)
    if allowed is not None:
        hides = mask is not None or lengths is not None or left >= 0 or right >= 0
        parts.append(additive(n, allowed, q.dtype))
    if lengths is not None:
        parts.append(additive(n, sequence_mask(n, lengths, keys), q.dtype))
    if not parts:
        return None, False
    total = parts[0]
    for part in parts[1:]:
        total = n.emit("add", total, part)
    return total, hides


def _size(n: NodeContext, size: Dim) -> int:
    (number,) = n.static(size)
    return number


def _mask_bias(n: NodeContext, mask: Tensor, keys: Dim, dtype: str) -> Tensor:
    """A mask as what is added to the scores; keys beyond its end are hidden."""
    if mask.rank == 0:
        mask = n.reshape(mask, (1,))
    bias = additive(n, mask, dtype) if mask.dtype == "bool" else convert(n, mask, dtype)
    missing = keys - mask.shape[-1]
    if isinstance(missing, SymDim):
        (missing,) = n.static(missing)
    if missing <= 0:
        return bias
    before = (0,) * bias.rank
    return n.emit(
        "pad", bias, beginning_padding=before, ending_padding=(*before[1:], missing), mode="constant", value=-np.inf
    )


def _weighted(n: NodeContext, weights: Tensor, v: Tensor) -> Tensor:
    """The weighted values, in the weights' data type where the values have another."""
    if v.dtype == weights.dtype:
        return attend(n, weights, v)
    common = "float64" if "float64" in (v.dtype, weights.dtype) else "float32"
    return convert(n, attend(n, convert(n, weights, common), convert(n, v, common)), weights.dtype)


def _shown_scores(n: NodeContext, scores: Tensor, capped: Tensor, bias: Tensor | None, weights: Tensor) -> Tensor:
    mode = n.attr("qk_matmul_output_mode")
    if mode == 0:
        return scores
    if mode == 1:
        return capped
    if mode == 2:
        return capped if bias is None else n.emit("add", capped, bias)
    if mode == 3:
        return weights
    raise n.error(f"qk_matmul_output_mode is {mode}, expected 0 to 3")
