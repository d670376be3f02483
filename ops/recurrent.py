"""Recurrent networks (the standard's sections "gru", "gruCell", "lstm" and "lstmCell")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from .convert import boolean, enum, nullable, positive, sequence, uint
from .dims import MAX_DIMENSION, Dim, product
from .recurrent_numpy import gru_step, lstm_step, run_cell, run_sequence
from .registry import register
from .rounding import narrow
from .schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from .shapes import expect_shape, same_dim
from .types import FLOATS, TensorType

_HIDDEN_SIZE = Option("hidden_size", uint, doc="number of features of the hidden state")
_STEPS = Option("steps", positive, doc="number of time steps: the input's first dimension")
_RESET_AFTER = Option("reset_after", boolean, True, "whether the reset gate is applied after the matrix product")
_RETURN_SEQUENCE = Option("return_sequence", boolean, False, "whether the hidden state of every step is returned too")
_DIRECTION = Option("direction", enum("forward", "backward", "both"), "forward", "how the sequence is walked")
_GRU_LAYOUT = Option("layout", enum("zrn", "rzn"), "zrn", "order of the gates: update z, reset r, new n")
_LSTM_LAYOUT = Option("layout", enum("iofg", "ifgo"), "iofg", "order of the gates: input i, output o, forget f, cell g")


def _activations(count: int, doc: str) -> Option:
    return Option("activations", nullable(sequence(enum("relu", "sigmoid", "tanh"), count)), None, doc)


_GRU_ACTIVATIONS = _activations(2, "functions of the update and reset gates, and of the new gate (sigmoid, tanh)")
_LSTM_ACTIVATIONS = _activations(
    3, "functions of the input, forget and output gates, of the cell gate, and of the cell state (sigmoid, tanh, tanh)"
)


def _operands(gates: int, *, cell: bool, states: Sequence[str], peephole: bool) -> tuple[Operand, ...]:
    """The operands of a cell, or of a sequence (whose shapes begin with the number of directions)."""
    lead, extra = ("", 0) if cell else ("directions, ", 1)

    def bias(name: str, count: int, what: str) -> Operand:
        doc = f"{what}, of shape [{lead}{count} * hidden_size]"
        return Operand(name, "input", 1 + extra, optional=True, doc=doc)

    weights = f"[{lead}{gates} * hidden_size, "
    required = (
        Operand("input", FLOATS, 2 + extra, doc=f"the input, of shape [{'' if cell else 'steps, '}batch, input size]"),
        Operand("weight", "input", 2 + extra, doc=f"the input's weights, of shape {weights}input size]"),
        Operand("recurrent_weight", "input", 2 + extra, doc=f"the state's weights, of shape {weights}hidden_size]"),
    )
    state_operands = tuple(
        Operand(name, "input", 2 + extra, optional=not cell, doc=f"of shape [{lead}batch, hidden_size]")
        for name in states
    )
    biases: tuple[Operand, ...] = (
        bias("bias", gates, "the input's bias"),
        bias("recurrent_bias", gates, "the hidden state's bias"),
    )
    if peephole:
        biases += (bias("peephole_weight", 3, "the cell state's weights in gates i, o, f"),)
    return required + (state_operands + biases if cell else biases + state_operands)


class _Recurrent(Operator):
    gates: ClassVar[int]
    default_activations: ClassVar[tuple[str, ...]]

    def check_hidden(self, t: Types, a: Attrs, batch: Dim, features: Dim, lead: tuple[int, ...] = ()) -> None:
        """Check the shapes of all operands but the input, and complete the activations."""
        hidden = a["hidden_size"]
        if not 1 <= hidden * self.gates * 2 <= MAX_DIMENSION:
            limit = MAX_DIMENSION // (self.gates * 2)
            fail(f"hidden_size is {hidden}, expected 1 to {limit}")
        state = (*lead, batch, hidden)
        expected: Mapping[str, tuple[Dim, ...]] = {
            "weight": (*lead, self.gates * hidden, features),
            "recurrent_weight": (*lead, self.gates * hidden, hidden),
            "bias": (*lead, self.gates * hidden),
            "recurrent_bias": (*lead, self.gates * hidden),
            "peephole_weight": (*lead, 3 * hidden),
            "hidden_state": state,
            "cell_state": state,
            "initial_hidden_state": state,
            "initial_cell_state": state,
        }
        for name, shape in expected.items():
            if (given := getattr(t, name, None)) is not None:
                expect_shape(name, given.shape, shape)
        if a["activations"] is None:
            a["activations"] = self.default_activations

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        vectors = product(t.input.shape[:-1])
        return 2 * vectors * (t.weight.size + t.recurrent_weight.size)

    def infer_cell(self, t: Types, a: Attrs) -> TensorType:
        batch, features = t.input.shape
        self.check_hidden(t, a, batch, features)
        return TensorType(t.input.dtype, (batch, a["hidden_size"]))

    def infer_sequence(self, t: Types, a: Attrs) -> tuple[TensorType, TensorType]:
        """The types of a last state and of the sequence of hidden states."""
        steps, batch, features = t.input.shape
        if not same_dim(steps, a["steps"]):
            fail(f"steps is {a['steps']}, expected the input's first dimension, {steps}")
        directions = 2 if a["direction"] == "both" else 1
        self.check_hidden(t, a, batch, features, (directions,))
        last = (directions, batch, a["hidden_size"])
        return TensorType(t.input.dtype, last), TensorType(t.input.dtype, (a["steps"], *last))


class _Gru(_Recurrent):
    gates = 3
    default_activations = ("sigmoid", "tanh")


class _Lstm(_Recurrent):
    gates = 4
    default_activations = ("sigmoid", "tanh", "tanh")


@register
class Gru(_Gru):
    """A gated recurrent unit run along a sequence.

    Returns the last hidden state [directions, batch, hidden_size] and, if ``return_sequence``, that of every step
    [steps, directions, batch, hidden_size]. Direction "both" walks the sequence forward and backward.
    """

    name = "gru"
    webnn = "gru"
    section = "api-mlgraphbuilder-gru"
    operands = _operands(3, cell=False, states=("initial_hidden_state",), peephole=False)
    arguments = (_STEPS, _HIDDEN_SIZE)
    options = (_RESET_AFTER, _RETURN_SEQUENCE, _DIRECTION, _GRU_LAYOUT, _GRU_ACTIVATIONS)
    outputs = (Output("output0", rank=3), Output("output1", rank=4))

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        last, every = self.infer_sequence(t, a)
        return [last, every] if a["return_sequence"] else [last]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        last, every = run_sequence(gru_step, x, a, [x.initial_hidden_state])
        return [narrow(value, output) for value, output in zip([*last, every], out)]


@register
class GruCell(_Gru):
    """One step of a gated recurrent unit: the next hidden state [batch, hidden_size]."""

    name = "gru_cell"
    webnn = "gruCell"
    section = "api-mlgraphbuilder-grucell"
    operands = _operands(3, cell=True, states=("hidden_state",), peephole=False)
    arguments = (_HIDDEN_SIZE,)
    options = (_RESET_AFTER, _GRU_LAYOUT, _GRU_ACTIVATIONS)
    outputs = (Output(rank=2),)

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        return [self.infer_cell(t, a)]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [narrow(run_cell(gru_step, x, a, [x.hidden_state])[0], out[0])]


@register
class Lstm(_Lstm):
    """Long short-term memory run along a sequence.

    Returns the last hidden state and the last cell state, both [directions, batch, hidden_size], and, if
    ``return_sequence``, the hidden state of every step [steps, directions, batch, hidden_size]. Direction "both" walks
    the sequence forward and backward. The peepholes of all three gates see the previous cell state.
    """

    name = "lstm"
    webnn = "lstm"
    section = "api-mlgraphbuilder-lstm"
    operands = _operands(4, cell=False, states=("initial_hidden_state", "initial_cell_state"), peephole=True)
    arguments = (_STEPS, _HIDDEN_SIZE)
    options = (_RETURN_SEQUENCE, _DIRECTION, _LSTM_LAYOUT, _LSTM_ACTIVATIONS)
    outputs = (Output("output0", rank=3), Output("output1", rank=3), Output("output2", rank=4))

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        last, every = self.infer_sequence(t, a)
        return [last, last, every] if a["return_sequence"] else [last, last]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        last, every = run_sequence(lstm_step, x, a, [x.initial_hidden_state, x.initial_cell_state])
        return [narrow(value, output) for value, output in zip([*last, every], out)]


@register
class LstmCell(_Lstm):
    """One step of long short-term memory: the next hidden state and the next cell state, both [batch, hidden_size]."""

    name = "lstm_cell"
    webnn = "lstmCell"
    section = "api-mlgraphbuilder-lstmcell"
    operands = _operands(4, cell=True, states=("hidden_state", "cell_state"), peephole=True)
    arguments = (_HIDDEN_SIZE,)
    options = (_LSTM_LAYOUT, _LSTM_ACTIVATIONS)
    outputs = (Output("output0", rank=2), Output("output1", rank=2))

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        state = self.infer_cell(t, a)
        return [state, state]

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        states = run_cell(lstm_step, x, a, [x.hidden_state, x.cell_state])
        return [narrow(value, output) for value, output in zip(states, out)]
