"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

from basalt.ops import Dim
from basalt.ops.dims import product

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten


@aten("scaled_dot_product_attention.default")
def attention(
    n: AtenContext,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if dropout_p:
        raise n.unsupported("dropout within attention")
    if mask is not None and mask.dtype != "bool":
        mask = n.cast(mask, q.dtype)
    (size,) = n.static(q.shape[-1])
    factor = 1 / math.sqrt(size) if scale is None else float(scale)
    before = n.shape[:-3]
    q, k, v = (_four(n, t, before) for t in (q, k, v))
    if mask is not None:
        mask = _four(n, mask, before if any(d != 1 for d in mask.shape[:-3]) else ())
    y: Tensor = n.call("Attention", q, k, v, mask, is_causal=int(is_causal), scale=factor)
    return n.shaped(y)


@aten("_scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(
    n: AtenContext,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Any, ...]:
    if 1 in n.read:
        raise n.unsupported("the logarithms of attention's sums")
    return attention(n, q, k, v, attn_mask, dropout_p, is_causal, scale), None


def _four(n: AtenContext, x: Tensor, before: tuple[Dim, ...]) -> Tensor:
    """``[batch, heads, length, size]``; axes before these, which are the result's, become one with the batch."""
    if len(before) > 1 and before != x.shape[:-3]:
        x = n.expand(x, (*before, *x.shape[-3:]))
    if x.rank < 4:
        return n.reshape(x, (*[1] * (4 - x.rank), *x.shape))
    return x if x.rank == 4 else n.reshape(x, (product(x.shape[:-3]), *x.shape[-3:]))
