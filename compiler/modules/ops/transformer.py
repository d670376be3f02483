"""Attention and encoder layers that torch runs as one operator each, which captured graphs have (its fast path)."""

from __future__ import annotations

import math

from basalt.ops import Dim

from ...onnx.tensor import Tensor
from ..context import AtenContext
from ..registry import aten
from .linear import affine

_ATTENTION_MASK, _PADDING_MASK = 0, 1
"""Kinds of masks: bool[length, keys], bool[batch, keys]; a third is bool[batch, heads, length, keys]."""


@aten("_native_multi_head_attention.default")
def multi_head_attention(
    n: AtenContext,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    size: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    last_weight: Tensor,
    last_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average: bool = True,
    mask_kind: int | None = None,
) -> tuple[Tensor | None, ...]:
    q, k, v = (
        _heads(n, affine(n, x, n.slice(weight, 0, i * size, size), n.slice(bias, 0, i * size, size)), heads)
        for i, x in enumerate((query, key, value))
    )
    additive = None if mask is None else _additive(n, mask, mask_kind, q.dtype)
    scale = 1 / math.sqrt(size // heads)
    y: Tensor = n.call("Attention", q, k, v, additive, scale=scale)
    y = n.reshape(n.transpose(y, (0, 2, 1, 3)), (*query.shape[:2], size))
    weights = _weights(n, q, k, additive, scale, average) if need_weights and 1 in n.read else None
    return affine(n, y, last_weight, last_bias), weights


@aten("_transformer_encoder_layer_fwd.default")
def encoder_layer(
    n: AtenContext,
    x: Tensor,
    size: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    last_weight: Tensor,
    last_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    scale1: Tensor,
    shift1: Tensor,
    scale2: Tensor,
    shift2: Tensor,
    inner_weight: Tensor,
    inner_bias: Tensor,
    outer_weight: Tensor,
    outer_bias: Tensor,
    mask: Tensor | None = None,
    mask_kind: int | None = None,
) -> Tensor:
    def normalised(t: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        return n.emit("layer_normalization", t, scale, shift, axes=(t.rank - 1,), epsilon=float(eps))

    def attended(t: Tensor) -> Tensor:
        kind = mask_kind
        weights = (weight, bias, last_weight, last_bias)
        y, _ = multi_head_attention(n, t, t, t, size, heads, *weights, mask, False, True, kind)
        assert y is not None
        return y

    def forward(t: Tensor) -> Tensor:
        inner = affine(n, t, inner_weight, inner_bias)
        return affine(n, n.call("Gelu" if use_gelu else "Relu", inner), outer_weight, outer_bias)

    if norm_first:
        x = n.emit("add", x, attended(normalised(x, scale1, shift1)))
        return n.emit("add", x, forward(normalised(x, scale2, shift2)))
    x = normalised(n.emit("add", x, attended(x)), scale1, shift1)
    return normalised(n.emit("add", x, forward(x)), scale2, shift2)


def _heads(n: AtenContext, x: Tensor, heads: int) -> Tensor:
    """[batch, length, size] as [batch, heads, length, size / heads]."""
    return n.transpose(n.reshape(x, (*x.shape[:2], heads, x.shape[2] // heads)), (0, 2, 1, 3))


def _additive(n: AtenContext, mask: Tensor, kind: int | None, dtype: str) -> Tensor:
    """What is added to the products [batch, heads, length, keys]; a mask of bools marks what is left out."""
    if kind == _PADDING_MASK:
        shape: tuple[Dim, ...] = (mask.shape[0], 1, 1, mask.shape[1])
    elif kind == _ATTENTION_MASK:
        shape = (1, 1, *mask.shape)
    else:
        shape = mask.shape
    mask = n.reshape(mask, shape)
    if mask.dtype != "bool":
        return n.cast(mask, dtype)
    return n.call("Where", mask, n.tensor_of(-math.inf, dtype), n.tensor_of(0, dtype))


def _weights(n: AtenContext, q: Tensor, k: Tensor, mask: Tensor | None, scale: float, average: bool) -> Tensor:
    """The share of each key [batch, heads, length, keys], or their mean over the heads."""
    products = n.emit("mul", n.emit("matmul", q, n.transpose(k, (0, 1, 3, 2))), n.scalar(scale, q))
    if mask is not None:
        products = n.emit("add", products, mask)
    shares: Tensor = n.call("Softmax", products, axis=3)
    return n.emit("reduce_mean", shares, axes=(1,)) if average else shares
