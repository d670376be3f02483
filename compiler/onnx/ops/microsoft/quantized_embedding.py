"""QEmbedLayerNormalization: EmbedLayerNormalization over quantised tables."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from .embedding import embedded, finish


@onnx_op("QEmbedLayerNormalization", 1, domain=MICROSOFT)
def q_embed_layer_normalization(n: NodeContext) -> tuple[Tensor, ...]:
    """The tables at places 2 to 6 have their scales at 8 to 12 and their zero points at 13 to 17."""
    tables = [None if not n.given(2 + i) else _table(n, i) for i in range(5)]
    words, positions, segments, scale, shift = tables
    if words is None or positions is None or scale is None or shift is None:
        raise n.error("a table is missing")
    total = embedded(n, words, positions, segments, None)
    return finish(n, total, scale, shift, n.optional(7), "float32")[:2]


def _table(n: NodeContext, i: int) -> Tensor:
    scale, zero = (n.reshape(n.tensor(first + i), ()) for first in (8, 13))
    table: Tensor = n.call("DequantizeLinear", n.tensor(2 + i), scale, zero, version=21)
    return table
