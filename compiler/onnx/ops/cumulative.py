"""Running sums and products: CumSum, CumProd."""

from __future__ import annotations

from functools import partial

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor


def _cumulative(n: NodeContext, op: str) -> Tensor:
    x, axis = n.tensor(0), n.ints(1)
    if len(axis) != 1:
        raise n.error(f"the axis has {len(axis)} elements, expected one")
    exclusive, backwards = bool(n.attr("exclusive")), bool(n.attr("reverse"))
    return n.emit(op, x, axis=n.axis(axis[0], x.rank), exclusive=exclusive, reversed=backwards)


onnx_op("CumSum", 11, 14)(partial(_cumulative, op="cumulative_sum"))
onnx_op("CumProd", 26)(partial(_cumulative, op="cumulative_product"))
