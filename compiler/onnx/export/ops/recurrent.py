"""Recurrent networks: ONNX's GRU and LSTM, whose gates come in one order."""

from __future__ import annotations

from collections.abc import Sequence

from basalt.ops import Dim

from ..node import NodeWriter
from ..registry import exports
from ..tensor import Tensor
from .recurrent_scan import scanned_gru, scanned_lstm

_DIRECTIONS = {"forward": "forward", "backward": "reverse", "both": "bidirectional"}


class _Operands:
    """A recurrent node's operands in ONNX's form: with a dimension of directions, gates in ONNX's order.

    ``sizes`` are the steps and the batch.
    """

    def __init__(self, n: NodeWriter, order: str) -> None:
        self.n, self.order, self.layout = n, order, n.attrs["layout"]
        self.cell = n.node.op.endswith("_cell")
        weights = n.type("weight").shape
        self.directions = 1 if self.cell else int(weights[0])  # type: ignore[arg-type]
        self.hidden: int = n.attrs["hidden_size"]
        self.dtype = n.widened(n["input"]).dtype
        lead = n.type("input").shape[:-1]
        self.sizes: tuple[Dim, Dim] = (1, lead[0]) if self.cell else (lead[0], lead[1])

    def lead(self, name: str) -> Tensor | None:
        """An operand with a first dimension of 1 before a cell's own."""
        x = self.n.get(name)
        if x is None:
            return None
        x = self.n.cast(x, self.dtype)
        shape = self.n.type(name).shape
        return self.n.reshape(x, (1, *shape), shape) if self.cell else x

    def gated(self, name: str) -> Tensor | None:
        """An operand whose second dimension is that of the gates."""
        x = self.lead(name)
        return None if x is None else self._ordered(x)

    def _ordered(self, x: Tensor) -> Tensor:
        if self.layout == self.order:
            return x
        sizes = self.n.ints([self.hidden] * len(self.layout))
        parts = self.n.call_all("Split", x, sizes, outputs=len(self.layout), axis=1)
        return self.n.call("Concat", *(parts[self.layout.index(gate)] for gate in self.order), axis=1)

    def biases(self) -> Tensor | None:
        """The input's and the state's bias one after the other."""
        given = [self.gated(name) for name in ("bias", "recurrent_bias")]
        if given == [None, None]:
            return None
        shape: Sequence[Dim] = (self.directions, len(self.order) * self.hidden)
        parts = [self.n.filled(0.0, self.dtype, shape) if b is None else b for b in given]
        return self.n.call("Concat", *parts, axis=1)

    def common(self, *states: str) -> tuple[Tensor | None, ...]:
        """Input, weights, biases, no lengths, and the initial states of these names."""
        named = states if self.cell else tuple(f"initial_{name}" for name in states)
        return (
            self.lead("input"),
            self.gated("weight"),
            self.gated("recurrent_weight"),
            self.biases(),
            None,
            *(self.lead(name) for name in named),
        )

    def finish(self, states: Sequence[Tensor], every: Tensor) -> list[Tensor]:
        """The core's outputs from ONNX's."""
        if self.cell:
            return [self.n.reshape(s, t.shape) for s, t in zip(states, self.n.out)]
        return [*states, every] if self.n.attrs["return_sequence"] else list(states)


def _activations(n: NodeWriter, directions: int) -> tuple[str, ...] | None:
    names = tuple(name.capitalize() for name in n.attrs["activations"])
    default = ("Sigmoid", "Tanh", "Tanh")[: len(names)]
    return None if names == default else names * directions


@exports("gru", "gru_cell")
def gru(n: NodeWriter) -> Sequence[Tensor]:
    given = _Operands(n, "zrn")
    operands = given.common("hidden_state")
    if given.dtype == "float64":
        states, every = scanned_gru(n, operands, given.sizes)
    else:
        every, *states = n.call_all(
            "GRU",
            *operands,
            outputs=2,
            hidden_size=given.hidden,
            direction=_direction(n),
            linear_before_reset=int(n.attrs["reset_after"]),
            activations=_activations(n, given.directions),
        )
    return given.finish(states, every)


@exports("lstm", "lstm_cell")
def lstm(n: NodeWriter) -> Sequence[Tensor]:
    """In ONNX the output gate's peephole sees the new cell state, in the core the old one, as the others do."""
    given = _Operands(n, "iofg")
    operands = given.common("hidden_state", "cell_state")
    peephole = given.lead("peephole_weight")
    spared = peephole is None or _spares_output(peephole, given.hidden)
    if given.dtype == "float64" or not spared:
        states, every = scanned_lstm(n, operands, peephole, given.sizes)
    else:
        every, *states = n.call_all(
            "LSTM",
            *operands,
            peephole,
            outputs=3,
            hidden_size=given.hidden,
            direction=_direction(n),
            activations=_activations(n, given.directions),
        )
    return given.finish(states, every)


def _direction(n: NodeWriter) -> str | None:
    direction = _DIRECTIONS[n.attrs.get("direction", "forward")]
    return None if direction == "forward" else direction


def _spares_output(peephole: Tensor, hidden: int) -> bool:
    """Whether no output gate looks at the cell state."""
    return peephole.array is not None and not peephole.array[:, hidden : 2 * hidden].any()
