"""RotaryEmbedding and GemmaRotaryEmbedding of ONNX Runtime."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, iota, merge_heads, split_heads, wide
from ..rotary import rotate

__all__ = ["turned"]


@onnx_op("RotaryEmbedding", 1, domain=MICROSOFT)
def rotary_embedding(n: NodeContext) -> Tensor:
    x, positions, cos = n.tensor(0), n.tensor(1), n.tensor(2)
    if x.rank not in (3, 4):
        raise n.error(f"input has rank {x.rank}, expected 3 or 4")
    if n.attr("is_packed_batching", 0):
        raise n.unsupported("is_packed_batching is set")
    heads, width = n.attr("num_heads", None) or 0, n.attr("rotary_embedding_dim", None) or 0
    if x.rank == 3 and not heads:
        # Without a number of heads the caches tell their size.
        hidden, half = n.static(x.shape[2], cos.shape[1])
        heads = hidden // (2 * half)
    parted = split_heads(n, x, heads) if x.rank == 3 else x
    if positions.rank == 1:
        places = n.reshape(iota(n, parted.shape[2]), (1, parted.shape[2]))
        positions = n.emit("add", places, n.reshape(positions, (1, 1)))
    y = turned(n, parted, positions, cos, n.tensor(3), width, bool(n.attr("interleaved", 0)))
    return merge_heads(n, y) if x.rank == 3 else y


def turned(
    n: NodeContext, x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, width: int, interleaved: bool
) -> Tensor:
    """Heads [batch, heads, length, size] turned by the angles of their positions [batch, length]."""
    work = wide(x.dtype)
    cos, sin = (n.emit("gather", convert(n, t, work), positions) for t in (cos, sin))
    return convert(n, rotate(n, convert(n, x, work), cos, sin, width, interleaved), x.dtype)


@onnx_op("GemmaRotaryEmbedding", 1, domain=MICROSOFT)
def gemma_rotary_embedding(n: NodeContext) -> tuple[Tensor, Tensor]:
    angles, q, q_turned, k, k_turned = (n.tensor(i) for i in range(5))
    batch, length, size = angles.shape
    sin, cos = (
        n.reshape(convert(n, n.emit(name, angles), q.dtype), (batch, 1, length, size)) for name in ("sin", "cos")
    )
    first, second = (
        n.emit("add", n.emit("mul", x, cos), n.emit("mul", other, sin)) for x, other in ((q, q_turned), (k, k_turned))
    )
    return first, second
