"""Recurrent networks that ONNX's operators cannot say or ONNX Runtime does not compute, as a Scan over the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from basalt.ops import Dim

from ..node import NodeWriter
from ..tensor import Tensor

__all__ = ["scanned_gru", "scanned_lstm"]

_Step = Callable[["_Direction", Sequence[Tensor], Tensor], Sequence[Tensor]]
"""The next states, the hidden one first, from a direction's weights, the states and the input's share of the gates."""


def scanned_gru(
    n: NodeWriter, operands: Sequence[Tensor | None], sizes: tuple[Dim, Dim]
) -> tuple[list[Tensor], Tensor]:
    """As :func:`scanned_lstm` for ONNX's GRU, gates in the order zrn."""
    return _scanned(n, operands, None, sizes, _gru_step, "zrn")


def scanned_lstm(
    n: NodeWriter, operands: Sequence[Tensor | None], peephole: Tensor | None, sizes: tuple[Dim, Dim]
) -> tuple[list[Tensor], Tensor]:
    """An LSTM whose peepholes all see the previous cell state.

    Args:
        n: the node.
        operands: those of ONNX's LSTM, gates in the order iofg.
        peephole: [directions, 3 * hidden], in the order iof.
        sizes: steps and batch.

    Returns:
        The last hidden and cell state [directions, batch, hidden], and the hidden state of every step [steps,
        directions, batch, hidden].
    """
    return _scanned(n, operands, peephole, sizes, _lstm_step, "iofg")


def _scanned(
    n: NodeWriter,
    operands: Sequence[Tensor | None],
    peephole: Tensor | None,
    sizes: tuple[Dim, Dim],
    step: _Step,
    gates: str,
) -> tuple[list[Tensor], Tensor]:
    steps, batch = sizes
    hidden: int = n.attrs["hidden_size"]
    count = 2 if n.attrs.get("direction") == "both" else 1
    results = [_Direction(n, operands, peephole, batch, d, gates).run(step) for d in range(count)]
    states = [
        _joined(n, [n.reshape(r[i], (1, batch, hidden), (batch, hidden)) for r in results], 0)
        for i in range(len(results[0]) - 1)
    ]
    flat = (steps, batch, hidden)
    every = _joined(n, [n.reshape(r[-1], (steps, 1, batch, hidden), flat) for r in results], 1)
    return states, every


def _joined(n: NodeWriter, parts: Sequence[Tensor], axis: int) -> Tensor:
    return parts[0] if len(parts) == 1 else n.call("Concat", *parts, axis=axis)


class _Direction:
    """One direction's weights, and its scan."""

    def __init__(
        self,
        n: NodeWriter,
        operands: Sequence[Tensor | None],
        peephole: Tensor | None,
        batch: Dim,
        index: int,
        gates: str,
    ) -> None:
        self.n, self.index, self.batch, self.gates = n, index, batch, gates
        self.hidden: int = n.attrs["hidden_size"]
        self.backward = index == 1 or n.attrs.get("direction") == "backward"
        self.activations = [name.capitalize() for name in n.attrs["activations"]]
        x, weight, recurrent, bias, _, *initial = operands
        assert x is not None and weight is not None and recurrent is not None
        self.dtype = x.dtype
        self.initial = [self._initial(state) for state in initial]
        self.recurrent = n.call("Transpose", self._own(recurrent), perm=(1, 0))
        projected = n.call("MatMul", x, n.call("Transpose", self._own(weight), perm=(1, 0)))
        self.recurrent_bias: Tensor | None = None
        if bias is not None:
            half = n.ints([len(gates) * self.hidden] * 2)
            own, self.recurrent_bias = n.call_all("Split", self._own(bias), half, outputs=2, axis=0)
            projected = n.call("Add", projected, own)
        self.projected = projected
        self.peephole = None if peephole is None else self.split(self._own(peephole), 3, 0)

    def _own(self, x: Tensor) -> Tensor:
        return self.n.call("Gather", x, self.n.scalar(self.index, "int64"), axis=0)

    def _initial(self, state: Tensor | None) -> Tensor:
        if state is None:
            return self.n.filled(0.0, self.dtype, (self.batch, self.hidden))
        return self._own(state)

    def split(self, x: Tensor, count: int, axis: int) -> tuple[Tensor, ...]:
        """Parts of the hidden state's size along an axis."""
        return self.n.call_all("Split", x, self.n.ints([self.hidden] * count), outputs=count, axis=axis)

    def run(self, step: _Step) -> tuple[Tensor, ...]:
        """The last states, then every hidden state."""
        n, state = self.n, (self.batch, self.hidden)
        count = len(self.initial)
        types = [(self.dtype, state)] * count + [(self.dtype, (self.batch, len(self.gates) * self.hidden))]
        with n.writer.body(types) as (body, (*states, inputs)):
            after = step(self, states, inputs)
            listed = n.call("Identity", after[0])
            body.outputs = [*((s, state) for s in after), (listed, state)]
        directions = (1,) if self.backward else None
        return n.call_all(
            "Scan",
            *self.initial,
            self.projected,
            outputs=count + 1,
            dtype=self.dtype,
            num_scan_inputs=1,
            body=body,
            scan_input_directions=directions,
            scan_output_directions=directions,
        )


def _biased(d: _Direction, product: Tensor, bias: Tensor | None) -> Tensor:
    return product if bias is None else d.n.call("Add", product, bias)


def _lstm_step(d: _Direction, states: Sequence[Tensor], inputs: Tensor) -> Sequence[Tensor]:
    n, (hidden, cell) = d.n, states
    gate, candidate, output = d.activations
    product = _biased(d, n.call("MatMul", hidden, d.recurrent), d.recurrent_bias)
    *seen, g = d.split(n.call("Add", inputs, product), 4, 1)
    if d.peephole is not None:
        seen = [n.call("Add", x, n.call("Mul", cell, weight)) for x, weight in zip(seen, d.peephole)]
    i, o, f = (n.call(gate, x) for x in seen)
    new_cell = n.call("Add", n.call("Mul", f, cell), n.call("Mul", i, n.call(candidate, g)))
    return n.call("Mul", o, n.call(output, new_cell)), new_cell


def _gru_step(d: _Direction, states: Sequence[Tensor], inputs: Tensor) -> Sequence[Tensor]:
    n, (hidden,) = d.n, states
    gate, new = d.activations
    shares, weights = d.split(inputs, 3, 1), d.split(d.recurrent, 3, 1)
    biases = (None, None, None) if d.recurrent_bias is None else d.split(d.recurrent_bias, 3, 0)

    def recurrent(i: int, state: Tensor) -> Tensor:
        return _biased(d, n.call("MatMul", state, weights[i]), biases[i])

    z, r = (n.call(gate, n.call("Add", shares[i], recurrent(i, hidden))) for i in (0, 1))
    if n.attrs["reset_after"]:
        seen = n.call("Mul", r, recurrent(2, hidden))
    else:
        seen = recurrent(2, n.call("Mul", r, hidden))
    candidate = n.call(new, n.call("Add", shares[2], seen))
    rest = n.call("Sub", n.scalar(1.0, d.dtype), z)
    return (n.call("Add", n.call("Mul", z, hidden), n.call("Mul", candidate, rest)),)
