"""What the passes that recognise attention share."""

from __future__ import annotations

from ..ir import Node, Value
from .emitter import Emitter

__all__ = ["DTYPES", "LEAST", "MOST_WIDTH", "keys_of"]

LEAST = 1 << 20
"""Scores from which on they fit no second-level cache: below, kernels of their own are as fast."""
MOST_WIDTH = 256
"""Features of a value whose sums fit the stack of a thread."""
DTYPES = ("float32", "float64")


def keys_of(k: Value, e: Emitter, producer: Node | None) -> Value:
    """The keys [..., t, d], of which the product has the transpose."""
    rank = len(k.shape)
    swap = (*range(rank - 2), rank - 1, rank - 2)
    if producer is not None and producer.op == "transpose" and tuple(producer.attrs["permutation"]) == swap:
        return producer.present[0]
    return e.emit("transpose", k, permutation=swap)
