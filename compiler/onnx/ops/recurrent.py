"""RNN, GRU and LSTM, by the core's operator ``recurrent``, which has all their options.

It is also the faster one where ``gru`` and ``lstm`` could say the same.
"""

from __future__ import annotations

from typing import Any

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .recurrent_activations import activations_of

_DIRECTIONS = {"foward": "forward", "forward": "forward", "reverse": "reverse", "bidirectional": "bidirectional"}
"""GRU-1 has a default with a letter missing."""


@onnx_op("RNN", 1, 7, 14, 22)
@onnx_op("GRU", 1, 3, 7, 14, 22)
@onnx_op("LSTM", 1, 7, 14, 22)
def recurrent(n: NodeContext) -> tuple[Tensor, ...]:
    x, weight, recurrent_weight = (n.tensor(i) for i in range(3))
    for name, tensor in (("X", x), ("W", weight), ("R", recurrent_weight)):
        if tensor.rank != 3:
            raise n.error(f"input {name} has rank {tensor.rank}, expected 3")
    (hidden,) = n.static(recurrent_weight.shape[2])
    if n.attr("hidden_size", None) not in (None, hidden):
        raise n.error(f"attribute hidden_size is {n.attr('hidden_size')}, but input R has {hidden} columns")
    is_lstm = n.op == "LSTM"
    every, *last = n.emit_all(
        "recurrent",
        _in_time(n, x),
        weight,
        recurrent_weight,
        n.optional(3),
        n.optional(4),
        _state(n, 5),
        _state(n, 6) if is_lstm else None,
        n.optional(7) if is_lstm else None,
        mode=n.op.lower(),
        hidden_size=hidden,
        clip=n.attr("clip", None),
        linear_before_reset=bool(n.attr("linear_before_reset", 0)),
        input_forget=bool(n.attr("input_forget", 0)),
        **_functions(n),
    )
    if n.attr("layout", 0):
        every = n.transpose(every, (2, 0, 1, 3))
    return (every, *[_in_time(n, state) for state in last])


def _in_time(n: NodeContext, x: Tensor) -> Tensor:
    """Steps (or directions) and batch exchanged where ``layout`` is 1."""
    return n.transpose(x, (1, 0, 2)) if n.attr("layout", 0) else x


def _state(n: NodeContext, place: int) -> Tensor | None:
    state = n.optional(place)
    if state is not None and state.rank != 3:
        raise n.error(f"input {n.input_name(place)} has rank {state.rank}, expected 3")
    return None if state is None else _in_time(n, state)


def _functions(n: NodeContext) -> dict[str, Any]:
    """The direction and the activation functions as the core's operator has them."""
    direction = _DIRECTIONS.get(n.attr("direction"))
    if direction is None:
        raise n.error(f"attribute direction is {n.attr('direction')!r}, expected forward, reverse or bidirectional")
    alphas, betas = n.attr("activation_alpha", None) or (), n.attr("activation_beta", None) or ()
    count = 2 if direction == "bidirectional" else 1
    try:
        functions = activations_of(n.op, n.attr("activations"), alphas, betas, count)
    except ValueError as error:
        raise n.error(f"attribute {error}") from None
    return {
        "direction": direction,
        "activations": tuple(f.name for f in functions),
        "activation_alpha": tuple(f.alpha for f in functions),
        "activation_beta": tuple(f.beta for f in functions),
    }
