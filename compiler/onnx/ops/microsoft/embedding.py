"""EmbedLayerNormalization: the sum of word, position and segment embeddings, normalised."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert, iota, wide, zeros


@onnx_op("EmbedLayerNormalization", 1, domain=MICROSOFT)
def embed_layer_normalization(n: NodeContext) -> tuple[Tensor, ...]:
    total = embedded(n, n.tensor(2), n.tensor(3), n.optional(4), n.optional(8))
    return finish(n, total, n.tensor(5), n.tensor(6), n.optional(7), total.dtype)


def embedded(
    n: NodeContext, words: Tensor, positions: Tensor, segments: Tensor | None, places: Tensor | None
) -> Tensor:
    """The sum of the embeddings ``[batch, length, hidden]`` by the tables of words, positions and segments."""
    ids = n.tensor(0)
    if ids.rank != 2:
        raise n.error(f"input_ids is {ids}, expected rank 2")
    length = ids.shape[1]
    if places is None:
        places = n.reshape(iota(n, length, "int32"), (1, length))
    total = n.emit("add", n.emit("gather", words, ids), n.emit("gather", positions, places))
    if segments is not None:
        kinds = n.optional(1)
        if kinds is None:
            raise n.error("segment_embedding is given without segment_ids")
        total = n.emit("add", total, n.emit("gather", segments, kinds))
    return total


def finish(
    n: NodeContext, total: Tensor, scale: Tensor, shift: Tensor, mask: Tensor | None, dtype: str
) -> tuple[Tensor, ...]:
    """The normalised sum, the number of words that the mask (int32[batch, length]) keeps, and the sum."""
    work = wide(total.dtype)
    held, gain, offset = (convert(n, t, work) for t in (total, scale, shift))
    y = n.emit("layer_normalization", held, gain, offset, axes=(2,), epsilon=n.attr("epsilon"))
    if mask is None:
        counts = zeros(n, (total.shape[0],), "int32")
    else:
        kept = convert(n, n.emit("equal", mask, n.scalar(1, mask), dtype="bool"), "int32")
        counts = n.emit("reduce_sum", kept, axes=(1,))
    return convert(n, y, dtype), counts, total
