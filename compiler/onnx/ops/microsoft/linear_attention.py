"""LinearAttention and CausalConvWithState of ONNX Runtime as far as they are those of the standard."""

from __future__ import annotations

from ...node import NodeContext
from ...registry import MICROSOFT, onnx_op
from ...tensor import Tensor
from .. import causal_conv, linear_attention

_PLAIN = {
    "state_window": 0,
    "ndim": 1,
    "dilation": 1,
    "channels_last": 0,
    "state_channels_last": -1,
    "state_length": 0,
    "state_update_capacity": 0,
    "input_channels": 0,
    "input_channel_offset": 0,
}
"""The attributes that the standard's operators lack, with the values that mean the same as theirs."""


@onnx_op("LinearAttention", 1, domain=MICROSOFT)
def linear_attention_1(n: NodeContext) -> tuple[Tensor, Tensor]:
    _check_plain(n)
    return linear_attention.linear_attention(n)


@onnx_op("CausalConvWithState", 1, domain=MICROSOFT)
def causal_conv_with_state_1(n: NodeContext) -> tuple[Tensor, Tensor]:
    _check_plain(n)
    return causal_conv.causal_conv_with_state(n)


def _check_plain(n: NodeContext) -> None:
    for name, plain in _PLAIN.items():
        if n.attr(name, plain) != plain:
            raise n.unsupported(f"{name} is {n.attr(name)}; known is {plain}")
