"""CausalConvWithState of ai.onnx: a depthwise convolution along a sequence that looks back only."""

from __future__ import annotations

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .building import convert, zeros


@onnx_op("CausalConvWithState", 27)
def causal_conv_with_state(n: NodeContext) -> tuple[Tensor, Tensor]:
    x, weight, past = n.tensor(0), n.tensor(1), n.optional(3)
    if x.rank != 3 or weight.rank != 3 or weight.shape[1] != 1:
        raise n.error(f"got {x} and weights {weight}, expected [batch, channels, length] and [channels, 1, size]")
    batch, channels, length = x.shape
    (groups, size) = n.static(weight.shape[0], weight.shape[2])
    history = (batch, channels, size - 1)
    if past is not None and past.shape != history and all(isinstance(d, int) for d in (*past.shape, *history)):
        raise n.error(f"past_state is {past}, expected shape {list(history)}")
    padded = x
    if size > 1:
        padded = n.emit("concat", zeros(n, history, x.dtype) if past is None else past, x, axis=2)
    lines = n.reshape(padded, (batch, channels, 1, length + size - 1))
    filters = n.reshape(weight, (groups, 1, 1, size))
    y = n.reshape(n.emit("conv2d", lines, filters, n.optional(2), groups=groups), x.shape)
    return _activated(n, y), n.slice(padded, 2, length, size - 1)


def _activated(n: NodeContext, y: Tensor) -> Tensor:
    activation = n.attr("activation")
    if activation == "none":
        return y
    if activation not in ("silu", "swish"):
        raise n.error(f"activation is {activation!r}, expected none, silu or swish")
    widened = convert(n, y, "float32")
    return convert(n, n.emit("mul", widened, n.emit("sigmoid", widened)), y.dtype)
