"""What ONNX Runtime's attention operators add to scores to hide keys."""

from __future__ import annotations

import numpy as np

from basalt.ops import Dim

from ...node import NodeContext
from ...tensor import Tensor
from ..building import convert, iota
from ..dot_product_attention import additive, position_mask

__all__ = ["bias_of", "key_mask"]


def key_mask(n: NodeContext, mask: Tensor | None, batch: Dim, keys: Dim) -> Tensor | None:
    """Which keys a mask shows, as bool that broadcasts to [batch, heads, queries, keys].

    Args:
        n: the node.
        mask: int32: 1 for the keys that are shown, [batch, keys] or [batch, queries, keys]; or the places where each
            sequence ends, [batch], followed by those where each begins, [2 * batch].
        batch: how many sequences there are.
        keys: how many keys each has.
    """
    if mask is None:
        return None
    if mask.rank == 1:
        return _between(n, mask, batch, keys)
    if mask.rank not in (2, 3):
        raise n.unsupported(f"a mask of shape {list(mask.shape)}")
    shown = n.emit("greater", mask, n.scalar(0, mask), dtype="bool")
    middle = (1, 1) if mask.rank == 2 else (1, mask.shape[1])
    return n.reshape(shown, (mask.shape[0], *middle, mask.shape[-1]))


def _between(n: NodeContext, mask: Tensor, batch: Dim, keys: Dim) -> Tensor:
    places = iota(n, keys, "int32")
    parts, count = n.static(mask.shape[0], batch)
    if parts not in (count, 2 * count):
        raise n.unsupported(f"a mask index of {parts} elements for a batch of {count}")
    ends = n.reshape(n.slice(mask, 0, 0, count), (count, 1, 1, 1))
    shown = n.emit("lesser", places, ends, dtype="bool")
    if parts == count:
        return shown
    starts = n.reshape(n.slice(mask, 0, count, count), (count, 1, 1, 1))
    return n.emit("logical_and", shown, n.emit("greater_or_equal", places, starts, dtype="bool"), dtype="bool")


def bias_of(
    n: NodeContext, dtype: str, shown: Tensor | None, given: Tensor | None, queries: Dim, keys: Dim, past: Dim
) -> Tensor | None:
    """The sum of what the mask, the causal rule (attribute ``unidirectional``) and the caller add to the scores.

    Hidden keys get ``mask_filter_value``, those that come after a query the lowest number, as in ONNX Runtime.
    """
    hidden = n.attr("mask_filter_value", None)
    hidden = -10000.0 if hidden is None else hidden
    parts = []
    if shown is not None:
        parts.append(additive(n, shown, dtype, hidden))
    causal = position_mask(n, queries, keys, past, bool(n.attr("unidirectional", 0)))
    if causal is not None:
        lowest = float(np.finfo(np.float64 if dtype == "float64" else np.float32).min)
        later = additive(n, causal, dtype, lowest)
        parts = [n.emit("where", causal, parts[0], n.scalar(lowest, dtype))] if parts else [later]
    if given is not None:
        parts.append(convert(n, given, dtype))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else n.emit("add", *parts)
