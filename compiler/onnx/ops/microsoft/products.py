"""Matrix products and convolutions of ONNX Runtime that carry transpositions, factors and activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor

__all__ = ["activated"]

_PARAMETERS = {
    "LeakyRelu": ("alpha",),
    "Elu": ("alpha",),
    "Celu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "Selu": ("alpha", "gamma"),
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "HardSwish": (),
}
"""The activations and the attributes that their parameters are."""


def activated(n: NodeContext, x: Tensor, parameters: Sequence[float | None]) -> Tensor:
    """A result after the activation that the attribute names; parameters that are None take the standard's defaults."""
    name = n.attr("activation", None)
    if not name:
        return x
    if name == "Clip":
        low, high = (*parameters, None, None)[:2]
        return n.emit("clamp", x, min_value=low, max_value=high)
    if name not in _PARAMETERS:
        raise n.unsupported(f"activation {name!r}; known are Clip, {', '.join(_PARAMETERS)}")
    attributes: dict[str, Any] = {k: v for k, v in zip(_PARAMETERS[name], parameters) if v is not None}
    y: Tensor = n.call(name, x, **attributes)
    return y


@onnx_op("FusedMatMul", 1, domain=MICROSOFT)
@onnx_op("TransposeMatMul", 1, domain=MICROSOFT)
def fused_matmul(n: NodeContext) -> Tensor:
    a = _arranged(n, n.tensor(0), bool(n.attr("transA")), bool(n.attr("transBatchA", 0)))
    b = _arranged(n, n.tensor(1), bool(n.attr("transB")), bool(n.attr("transBatchB", 0)))
    product = n.call("MatMul", a, b)
    alpha = n.attr("alpha")
    return product if alpha == 1 else n.emit("mul", product, n.scalar(alpha, product))


def _arranged(n: NodeContext, x: Tensor, swapped: bool, batch_inside: bool) -> Tensor:
    """Batch axes in front, then rows and columns; a vector stays as it is."""
    order = list(range(x.rank))
    if batch_inside and x.rank > 2:
        order = [*order[1:-1], 0, order[-1]]
    if swapped and x.rank > 1:
        order[-2:] = order[:-3:-1]
    return n.transpose(x, order)


@onnx_op("FusedGemm", 1, domain=MICROSOFT)
def fused_gemm(n: NodeContext) -> Tensor:
    kept = {k: n.attr(k) for k in ("alpha", "beta", "transA", "transB")}
    y = n.call("Gemm", *n.inputs[:3], **kept)
    if n.attr("activation", None) == "Selu":
        names = ("alpha", "gamma")
    else:
        names = ("alpha", "beta")
    return activated(n, y, [n.attr(f"activation_{name}", None) for name in names])


@onnx_op("FusedConv", 1, domain=MICROSOFT)
def fused_conv(n: NodeContext) -> Tensor:
    names = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    y = n.call("Conv", *n.inputs[:3], **{k: n.attributes[k] for k in names if n.has(k)})
    if n.given(3):
        y = n.emit("add", y, n.tensor(3))
    return activated(n, y, n.attr("activation_params", None) or ())
