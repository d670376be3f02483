"""DynamicQuantizeLSTM: an LSTM whose weights are stored in 8 bits."""

from __future__ import annotations

from typing import Any

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from ..building import convert

_KEPT = ("activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size", "input_forget")


@onnx_op("DynamicQuantizeLSTM", 1, domain=MICROSOFT)
def dynamic_quantize_lstm(n: NodeContext) -> tuple[Any, ...]:
    """Computed in float32 with the weights dequantised: inputs and states are not rounded to 8 bits on the way."""
    weights = [_weights(n, place, 8 + 2 * i) for i, place in enumerate((1, 2))]
    given = {name: n.attributes[name] for name in _KEPT if n.has(name)}
    others = [n.item(i) for i in range(3, 8)]
    outputs: tuple[Any, ...] = n.call("LSTM", n.tensor(0), *weights, *others, version=14, outputs=3, **given)
    return outputs


def _weights(n: NodeContext, place: int, scale_place: int) -> Tensor:
    """Weights [directions, 4 * hidden, inputs] of those stored as [directions, inputs, 4 * hidden]."""
    codes, scale, zero = n.tensor(place), n.tensor(scale_place), n.tensor(scale_place + 1)
    columns = scale.shape[1] if scale.rank == 2 else 1
    shape = (codes.shape[0], 1, columns)
    centred = n.emit("sub", convert(n, codes, "float32"), n.reshape(convert(n, zero, "float32"), shape))
    return n.transpose(n.emit("mul", centred, n.reshape(scale, shape)), (0, 2, 1))
