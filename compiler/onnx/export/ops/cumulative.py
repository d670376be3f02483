"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor

_PRODUCT_SINCE = 26


@exports("cumulative_sum")
def cumulative_sum(n: NodeWriter) -> Tensor:
    return _scan(n, "CumSum")


@exports("cumulative_product")
def cumulative_product(n: NodeWriter) -> Tensor:
    return _scan(n, "CumProd") if n.opset >= _PRODUCT_SINCE and n.runs("CumProd", n["input"].dtype) else _product(n)


def _scan(n: NodeWriter, op_type: str) -> Tensor:
    axis = n.scalar(n.attrs["axis"], "int64")
    flags: dict[str, Any] = {"exclusive": int(n.attrs["exclusive"]), "reverse": int(n.attrs["reversed"])}
    return n.call(op_type, n["input"], axis, wraps=True, **flags)


def _product(n: NodeWriter) -> Tensor:
    """As a Scan, before ONNX has an operator for it."""
    x, axis = n.widened(n["input"]), n.attrs["axis"]
    shape = n.type("input").shape
    line = (*shape[:axis], *shape[axis + 1 :])
    with n.writer.body([(x.dtype, line), (x.dtype, line)]) as (body, (total, factor)):
        after = n.call("Mul", total, factor)
        listed = n.call("Identity", total if n.attrs["exclusive"] else after)
        body.outputs = [(after, line), (listed, line)]
    direction = (1,) if n.attrs["reversed"] else None
    results = n.call_all(
        "Scan",
        n.filled(1, x.dtype, line),
        x,
        outputs=2,
        dtype=x.dtype,
        num_scan_inputs=1,
        body=body,
        scan_input_axes=(axis,),
        scan_output_axes=(axis,),
        scan_input_directions=direction,
        scan_output_directions=direction,
    )
    return results[1]
