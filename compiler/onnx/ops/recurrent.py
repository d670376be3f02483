"""RNN, GRU and LSTM: by the operators ``gru`` and ``lstm`` where they say the same, else by ``recurrent``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor
from .recurrent_activations import GATES, activations_of

_DIRECTIONS = {"forward": "forward", "foward": "forward", "reverse": "backward", "bidirectional": "both"}
"""The core's names; GRU-1 has a default with a letter missing."""
_SIMPLE = ("relu", "sigmoid", "tanh")


class _Call:
    """A node's operands as the core has them, [steps, batch, ...], and its options."""

    def __init__(self, n: NodeContext) -> None:
        self.n = n
        direction = n.attr("direction")
        if direction not in _DIRECTIONS:
            raise n.error(f"attribute direction is {direction!r}, expected forward, reverse or bidirectional")
        self.direction = _DIRECTIONS[direction]
        self.by_batch = bool(n.attr("layout", 0))
        x, self.weight, self.recurrent = (n.tensor(i) for i in range(3))
        for name, tensor in (("X", x), ("W", self.weight), ("R", self.recurrent)):
            if tensor.rank != 3:
                raise n.error(f"input {name} has rank {tensor.rank}, expected 3")
        self.x = self._turned(x)
        (self.hidden,) = n.static(self.recurrent.shape[2])
        if n.attr("hidden_size", None) not in (None, self.hidden):
            raise n.error(f"attribute hidden_size is {n.attr('hidden_size')}, but input R has {self.hidden} columns")
        self.rows = GATES[n.op] * self.hidden
        self.initial = [self._turned(n.tensor(i)) if n.given(i) else None for i in ((5, 6) if n.op == "LSTM" else (5,))]
        alphas, betas = n.attr("activation_alpha", None) or (), n.attr("activation_beta", None) or ()
        count = 2 if self.direction == "both" else 1
        try:
            self.activations = activations_of(n.op, n.attr("activations"), alphas, betas, count)
        except ValueError as error:
            raise n.error(f"attribute {error}") from None

    def _turned(self, x: Tensor) -> Tensor:
        """A tensor whose batch comes first where ``layout`` is 1, as if it were 0."""
        return self.n.transpose(x, (1, 0, 2)) if self.by_batch else x

    def usual(self) -> bool:
        """Whether the core's ``gru`` or ``lstm`` may say the same: whole sequences, simple functions, no clipping."""
        n, steps = self.n, self.x.shape[0]
        half = len(self.activations) // 2
        alike = self.direction != "both" or self.activations[:half] == self.activations[half:]
        simple = alike and all(a.name in _SIMPLE for a in self.activations)
        if not simple or n.attr("clip", None) is not None or steps == 0 or self.hidden == 0:
            return False
        lengths = n.known(4)
        return not n.given(4) or (lengths is not None and isinstance(steps, int) and bool((lengths == steps).all()))

    def by_core(self, op: str, *operands: Tensor | None, **attrs: Any) -> tuple[Tensor | None, ...]:
        """The outputs, by ``gru`` or ``lstm``; ``operands`` are those after the biases."""
        bias = self.n.optional(3)
        biases = [None, None] if bias is None else [self.n.slice(bias, 1, i * self.rows, self.rows) for i in (0, 1)]
        count = len(self.activations) // (2 if self.direction == "both" else 1)
        results = self.n.emit_all(
            op,
            self.x,
            self.weight,
            self.recurrent,
            *biases,
            *operands,
            steps=self.x.shape[0],
            hidden_size=self.hidden,
            return_sequence=self.n.wants(0),
            direction=self.direction,
            activations=tuple(a.name for a in self.activations[:count]),
            **attrs,
        )
        last = results[: len(self.initial)]
        return self._outputs(results[len(last)] if self.n.wants(0) else None, last)

    def by_general(self, **attrs: Any) -> tuple[Tensor | None, ...]:
        """The outputs, by ``recurrent``, which has all options."""
        n = self.n
        cell_state = self.initial[1] if n.op == "LSTM" else None
        peephole = n.optional(7) if n.op == "LSTM" else None
        every, *last = n.emit_all(
            "recurrent",
            self.x,
            self.weight,
            self.recurrent,
            n.optional(3),
            n.optional(4),
            self.initial[0],
            cell_state,
            peephole,
            mode=n.op.lower(),
            hidden_size=self.hidden,
            direction={"backward": "reverse", "both": "bidirectional"}.get(self.direction, "forward"),
            activations=tuple(a.name for a in self.activations),
            activation_alpha=tuple(a.alpha for a in self.activations),
            activation_beta=tuple(a.beta for a in self.activations),
            clip=n.attr("clip", None),
            **attrs,
        )
        return self._outputs(every, last)

    def _outputs(self, every: Tensor | None, last: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        """Every hidden state (None if nobody reads it) and the last states, in the node's layout."""
        if not self.by_batch:
            return (every, *last)
        turned = None if every is None else self.n.transpose(every, (2, 0, 1, 3))
        return (turned, *[self._turned(s) for s in last])


@onnx_op("RNN", 1, 7, 14, 22)
def rnn(n: NodeContext) -> tuple[Tensor | None, ...]:
    return _Call(n).by_general()


@onnx_op("GRU", 1, 3, 7, 14, 22)
def gru(n: NodeContext) -> tuple[Tensor | None, ...]:
    call = _Call(n)
    after = bool(n.attr("linear_before_reset", 0))
    if call.usual():
        return call.by_core("gru", *call.initial, reset_after=after, layout="zrn")
    return call.by_general(linear_before_reset=after)


@onnx_op("LSTM", 1, 7, 14, 22)
def lstm(n: NodeContext) -> tuple[Tensor | None, ...]:
    call = _Call(n)
    coupled = bool(n.attr("input_forget"))
    if not coupled and call.usual() and _sees_only_the_past(n, call.hidden):
        return call.by_core("lstm", n.optional(7), *call.initial, layout="iofg")
    return call.by_general(input_forget=coupled)


def _sees_only_the_past(n: NodeContext, hidden: int) -> bool:
    """Whether the output gate has no peephole: in ONNX it would see the new cell state, in the core the one before."""
    known = n.known(7)
    if known is None:
        return not n.given(7)
    return known.ndim == 2 and not known[:, hidden : 2 * hidden].any()
