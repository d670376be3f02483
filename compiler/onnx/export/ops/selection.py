"""Operators beyond the core's standard that choose or combine elements: top_k, max_pool_indices, reducing scatters."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.ops import known
from basalt.ops.types import integer_bounds, is_float

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor
from .indexing import clipped, clipped_coordinates
from .pooling import Window


@exports("top_k")
def top_k(n: NodeWriter) -> Sequence[Tensor]:
    x = n["input"]
    flags = {"axis": n.attrs["axis"], "largest": int(n.attrs["largest"])}
    count = n.sizes((n.attrs["k"],))
    if x.dtype != "uint64":
        return n.call_all("TopK", x, count, outputs=2, **flags)
    # As int64 of the same order: with the highest bit turned.
    low = n.scalar(integer_bounds("int64")[0], "int64")
    values, indices = n.call_all("TopK", n.call("Add", n.cast(x, "int64"), low), count, outputs=2, **flags)
    return [n.cast(n.call("Add", values, low), "uint64"), indices]


@exports("max_pool_indices")
def max_pool_indices(n: NodeWriter) -> Sequence[Tensor]:
    x = n["input"]
    window = Window(n, n.type("input").shape[2:], "nchw")
    if not window.is_plain or not known(*window.kernel):
        n.unsupported("the positions of maxima where padding is as wide as the window, or a window holds no element")
    if not n.runs("MaxPool", x.dtype) and not is_float(x.dtype):
        if x.dtype in ("int64", "uint64"):
            n.unsupported(f"the positions of maxima of {x.dtype}, which ONNX's MaxPool does not take")
        x = n.cast(x, "float64")
    order = 1 if n.attrs["column_major"] else None
    values, indices = n.call_all("MaxPool", x, outputs=2, storage_order=order, **window.options(padded=True))
    return [n.cast(values, n.out[0].dtype), indices]


@exports("scatter_nd_reduce")
def scatter_nd_reduce(n: NodeWriter) -> Tensor:
    return _reduced(n, "ScatterND", clipped_coordinates(n))


@exports("scatter_elements_reduce")
def scatter_elements_reduce(n: NodeWriter) -> Tensor:
    return _reduced(n, "ScatterElements", clipped(n), axis=n.attrs["axis"])


def _reduced(n: NodeWriter, op_type: str, indices: Tensor, axis: int | None = None) -> Tensor:
    """ONNX Runtime reduces no half precision; in float32 each result is rounded once, not after each update."""
    reduction = n.attrs["reduction"]
    if reduction in ("max", "min") and n.opset < 18:
        n.unsupported(f"the reduction {reduction}, which ONNX has from opset 18 on")
    x, updates = n.widened(n["input"]), n.widened(n["updates"])
    return n.call(op_type, x, indices, updates, axis=axis, reduction=reduction)
