"""Rotary positional embedding (Su et al. 2021) of ai.onnx, and its core for ONNX Runtime's operators."""

from __future__ import annotations

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .building import merge_heads, split_heads

__all__ = ["rotate"]


@onnx_op("RotaryEmbedding", 23)
def rotary_embedding(n: NodeContext) -> Tensor:
    x, cos, sin, positions = n.tensor(0), n.tensor(1), n.tensor(2), n.optional(3)
    if x.rank not in (3, 4):
        raise n.error(f"X has rank {x.rank}, expected 3 or 4")
    heads = n.attr("num_heads", 0)
    if x.rank == 3 and not heads:
        raise n.error("an input of rank 3 needs the attribute num_heads")
    if cos.rank != (2 if positions is not None else 3) or sin.rank != cos.rank:
        expected = "2 with position_ids" if positions is not None else "3 without position_ids"
        raise n.error(f"the caches have ranks {cos.rank} and {sin.rank}, expected {expected}")
    if positions is not None:
        cos, sin = n.emit("gather", cos, positions), n.emit("gather", sin, positions)
    parted = split_heads(n, x, heads) if x.rank == 3 else x
    turned = rotate(n, parted, cos, sin, n.attr("rotary_embedding_dim"), bool(n.attr("interleaved")))
    return merge_heads(n, turned) if x.rank == 3 else turned


def rotate(n: NodeContext, x: Tensor, cos: Tensor, sin: Tensor, width: int, interleaved: bool) -> Tensor:
    """Pairs of features turned by an angle of their position.

    Args:
        n: the node.
        x: ``[batch, heads, sequence, size]``.
        cos, sin: of the angles, ``[batch, sequence, width / 2]``.
        width: how many features turn, 0 for all; those behind them stay.
        interleaved: whether neighbours are a pair, instead of a feature and the one ``width / 2`` places behind it.
    """
    (size,) = n.static(x.shape[3])
    width = width or size
    if not 0 < width <= size or width % 2:
        raise n.error(f"{width} of {size} features shall turn, expected an even number of them")
    half = width // 2
    if (isinstance(cos.shape[-1], int) and cos.shape[-1] != half) or cos.shape != sin.shape:
        raise n.error(f"the caches are {cos} and {sin}, expected both to have {half} columns")
    cos, sin = (n.reshape(t, (t.shape[0], 1, *t.shape[1:])) for t in (cos, sin))
    turning = x if width == size else n.slice(x, 3, 0, width)
    if interleaved:
        pairs = n.reshape(turning, (*x.shape[:3], half, 2))
        first, second = (n.reshape(n.slice(pairs, 4, i, 1), (*x.shape[:3], half)) for i in (0, 1))
    else:
        first, second = (n.slice(turning, 3, start, half) for start in (0, half))
    real = n.emit("sub", n.emit("mul", first, cos), n.emit("mul", second, sin))
    imaginary = n.emit("add", n.emit("mul", first, sin), n.emit("mul", second, cos))
    if interleaved:
        columns = [n.reshape(t, (*t.shape, 1)) for t in (real, imaginary)]
        parts = [n.reshape(n.emit("concat", *columns, axis=4), (*x.shape[:3], width))]
    else:
        parts = [real, imaginary]
    if width != size:
        parts.append(n.slice(x, 3, width, size - width))
    return parts[0] if len(parts) == 1 else n.emit("concat", *parts, axis=3)
