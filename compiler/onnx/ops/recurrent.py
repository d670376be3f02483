"""RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import OnHostError
from ..host.recurrent_activations import GATES, Activation, activations_of
from ..node import NodeContext
from ..registry import onnx_op
from ..tensor import Tensor

_DIRECTIONS = {"forward": "forward", "foward": "forward", "reverse": "backward", "bidirectional": "both"}
"""The core's names; GRU-1 has a default with a letter missing."""
_CORE_FUNCTIONS = ("relu", "sigmoid", "tanh")


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
        self._check_ranks(x)
        self.x = n.transpose(x, (1, 0, 2)) if self.by_batch else x
        (self.hidden,) = n.static(self.recurrent.shape[2])
        if n.attr("hidden_size", None) not in (None, self.hidden):
            raise n.error(f"attribute hidden_size is {n.attr('hidden_size')}, but input R has {self.hidden} columns")
        self.rows = GATES[n.op] * self.hidden
        self.bias, self.recurrent_bias = self._biases()
        self.initial = [self._state(i) for i in ((5, 6) if n.op == "LSTM" else (5,))]
        self.activations = self._activations()

    def _check_ranks(self, x: Tensor) -> None:
        for name, tensor in (("X", x), ("W", self.weight), ("R", self.recurrent)):
            if tensor.rank != 3:
                raise self.n.error(f"input {name} has rank {tensor.rank}, expected 3")

    def _biases(self) -> tuple[Tensor | None, Tensor | None]:
        bias = self.n.optional(3)
        if bias is None:
            return None, None
        return self.n.slice(bias, 1, 0, self.rows), self.n.slice(bias, 1, self.rows, self.rows)

    def _state(self, place: int) -> Tensor | None:
        state = self.n.optional(place)
        return state if state is None or not self.by_batch else self.n.transpose(state, (1, 0, 2))

    def _activations(self) -> list[tuple[Activation, ...]]:
        n = self.n
        alphas, betas = n.attr("activation_alpha", None) or (), n.attr("activation_beta", None) or ()
        try:
            return activations_of(n.op, n.attr("activations"), alphas, betas, 2 if self.direction == "both" else 1)
        except ValueError as error:
            raise n.error(f"attribute {error}") from None

    def core_activations(self) -> tuple[str, ...] | None:
        """The functions, the same in both directions, if the core has them."""
        first = tuple(a.name for a in self.activations[0])
        same = all(tuple(a.name for a in one) == first for one in self.activations)
        return first if same and all(name in _CORE_FUNCTIONS for name in first) else None

    def plain(self) -> bool:
        """Whether sequences are whole and nothing is clipped."""
        n = self.n
        if n.attr("clip", None) is not None or self.hidden < 1:
            return False
        lengths = n.known(4)
        steps = self.x.shape[0]
        if n.given(4) and (lengths is None or not isinstance(steps, int) or not (lengths == steps).all()):
            return False
        return steps != 0

    def attributes(self) -> dict[str, object]:
        """The options that all core operators share."""
        return {
            "steps": self.x.shape[0],
            "hidden_size": self.hidden,
            "return_sequence": self.n.wants(0),
            "direction": self.direction,
            "activations": self.core_activations(),
        }

    def results(self, last: Sequence[Tensor], every: Tensor | None) -> tuple[Tensor | None, ...]:
        """The node's outputs: every hidden state (None if nobody reads it), and the last states."""
        if not self.by_batch:
            return (every, *last)
        turned = None if every is None else self.n.transpose(every, (2, 0, 1, 3))
        return (turned, *[self.n.transpose(s, (1, 0, 2)) for s in last])


@onnx_op("GRU", 1, 3, 7, 14, 22)
def gru(n: NodeContext) -> tuple[Tensor | None, ...]:
    call = _Call(n)
    if not call.plain() or call.core_activations() is None:
        raise OnHostError
    results = n.emit_all(
        "gru",
        call.x,
        call.weight,
        call.recurrent,
        call.bias,
        call.recurrent_bias,
        *call.initial,
        reset_after=bool(n.attr("linear_before_reset", 0)),
        layout="zrn",
        **call.attributes(),
    )
    return call.results(results[:1], results[1] if n.wants(0) else None)


@onnx_op("LSTM", 1, 7, 14, 22)
def lstm(n: NodeContext) -> tuple[Tensor | None, ...]:
    call = _Call(n)
    if not call.plain() or call.core_activations() is None or n.attr("input_forget"):
        raise OnHostError
    results = n.emit_all(
        "lstm",
        call.x,
        call.weight,
        call.recurrent,
        call.bias,
        call.recurrent_bias,
        _peephole(n, call.hidden),
        *call.initial,
        layout="iofg",
        **call.attributes(),
    )
    return call.results(results[:2], results[2] if n.wants(0) else None)


def _peephole(n: NodeContext, hidden: int) -> Tensor | None:
    """The peepholes, if the output gate has none: in ONNX it sees the new cell state, in the core the one before."""
    if not n.given(7):
        return None
    known = n.known(7)
    if known is None or known.ndim != 2 or known[:, hidden : 2 * hidden].any():
        raise OnHostError
    return n.tensor(7) if known.any() else None


@onnx_op("RNN", 1, 7, 14, 22)
def rnn(n: NodeContext) -> tuple[Tensor | None, ...]:
    raise OnHostError
