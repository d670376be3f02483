"""Pooling over everything: GlobalAveragePool, GlobalMaxPool, GlobalLpPool."""

from __future__ import annotations

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .pooling import widened

_REDUCTIONS = {"GlobalAveragePool": "reduce_mean", "GlobalMaxPool": "reduce_max"}
_NORMS = {1: "reduce_l1", 2: "reduce_l2"}


def _over_all(n: NodeContext, op: str, x: Tensor) -> Tensor:
    if x.rank < 2:
        raise n.error(f"input X has rank {x.rank}, expected batch, channels and more")
    return n.emit(op, x, axes=tuple(range(2, x.rank)), keep_dimensions=True)


@onnx_op("GlobalAveragePool", 1, 22)
@onnx_op("GlobalMaxPool", 1, 22)
def global_pool(n: NodeContext) -> Tensor:
    return _over_all(n, _REDUCTIONS[n.op], n.tensor(0))


@onnx_op("GlobalLpPool", 1, 2, 22)
def global_lp_pool(n: NodeContext) -> Tensor:
    x, p = n.tensor(0), n.attr("p")
    if p in _NORMS:
        return _over_all(n, _NORMS[p], x)
    if p <= 0:
        raise n.error(f"attribute p is {p}, expected a positive number")
    wide = widened(n, x)
    total = _over_all(n, "reduce_sum", n.emit("pow", n.emit("abs", wide), n.scalar(p, wide)))
    return n.cast(n.emit("pow", total, n.scalar(1 / p, wide)), x.dtype)
