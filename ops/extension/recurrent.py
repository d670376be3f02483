"""Recurrent networks in all the forms that ONNX has: what ``gru`` and ``lstm`` cannot say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..convert import boolean, double, enum, nullable, positive, sequence
from ..dims import MAX_DIMENSION, Dim
from ..registry import register_extension
from ..rounding import narrow
from ..schema import Arrays, Attrs, Operand, Operator, Option, Output, Types, fail
from ..shapes import check_shape, expect_shape
from ..types import FLOATS, TensorType
from .recurrent_numpy import run

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
ACTIVATIONS = (
    *("relu", "tanh", "sigmoid", "affine", "leaky_relu", "thresholded_relu", "scaled_tanh", "hard_sigmoid", "elu"),
    *("softsign", "softplus"),
)
DEFAULTS = {
    "affine": (1.0, 0.0),
    "leaky_relu": (0.01, 0.0),
    "thresholded_relu": (1.0, 0.0),
    "scaled_tanh": (1.0, 1.0),
    "hard_sigmoid": (0.2, 0.5),
    "elu": (1.0, 0.0),
}
"""alpha and beta of an activation for which none are given."""
_USUAL = {"rnn": ("tanh",), "gru": ("sigmoid", "tanh"), "lstm": ("sigmoid", "tanh", "tanh")}


@register_extension
class Recurrent(Operator):
    """A recurrent network run along a sequence: ``rnn``, ``gru`` or ``lstm``, as ONNX defines them.

    Gates stand in the weights' rows and the bias in the order z, r, h (gru) or i, o, f, c (lstm); the bias holds the
    input's for all gates, then the state's. With ``linear_before_reset`` a gru's reset gate is applied after the matrix
    product. A lstm's peepholes see the previous cell state in the gates i and f and the new one in o, or with
    ``peephole_previous`` the previous one in all three, as WebNN's do; ``input_forget`` makes f = 1 - i. ``clip``
    bounds what goes into the activations of the gates.

    Entry b of the batch takes ``sequence_lens[b]`` steps; a reversed walk begins at the last of them. Behind them Y is
    0. Y_h and Y_c are the states after the last step, 0 for no steps (as ONNX Runtime has it).

    ``activations`` names for each direction in turn f (rnn), f and g (gru), or f, g and h (lstm), each with its alpha
    and beta where the function has such.
    """

    name = "recurrent"
    operands = (
        Operand("input", FLOATS, 3, doc="the input, [steps, batch, input size]"),
        Operand("weight", "input", 3, doc="the input's weights, [directions, gates * hidden_size, input size]"),
        Operand(
            "recurrent_weight", "input", 3, doc="the state's weights, [directions, gates * hidden_size, hidden_size]"
        ),
        Operand("bias", "input", 2, optional=True, doc="both biases, [directions, 2 * gates * hidden_size]"),
        Operand("sequence_lens", frozenset({"int32", "int64"}), 1, optional=True, doc="steps of each entry, [batch]"),
        Operand("initial_h", "input", 3, optional=True, doc="the first hidden state, [directions, batch, hidden_size]"),
        Operand("initial_c", "input", 3, optional=True, doc="a lstm's first cell state, of the same shape"),
        Operand("peephole", "input", 2, optional=True, doc="a lstm's peepholes i, o, f, [directions, 3 * hidden_size]"),
    )
    arguments = (
        Option("mode", enum("rnn", "gru", "lstm"), doc="the kind of network"),
        Option("hidden_size", positive, doc="number of features of the hidden state"),
    )
    options = (
        Option("direction", enum("forward", "reverse", "bidirectional"), "forward", "how the sequence is walked"),
        Option(
            "activations", nullable(sequence(enum(*ACTIVATIONS))), None, "the functions, for each direction in turn"
        ),
        Option("activation_alpha", nullable(sequence(double)), None, "alpha of each of them"),
        Option("activation_beta", nullable(sequence(double)), None, "beta of each of them"),
        Option("clip", nullable(double), None, "the bound of what goes into a gate's activation"),
        Option("input_forget", boolean, False, "whether a lstm's forget gate is 1 less its input gate"),
        Option("peephole_previous", boolean, False, "whether a lstm's output gate, too, sees the previous cell state"),
        Option("linear_before_reset", boolean, False, "whether a gru's reset gate is applied after the product"),
    )
    outputs = (Output("Y", rank=4), Output("Y_h", rank=3), Output("Y_c", rank=3))

    def infer(self, t: Types, a: Attrs) -> Sequence[TensorType]:
        mode, hidden = a["mode"], a["hidden_size"]
        if not isinstance(hidden, int) or 2 * GATES[mode] * hidden > MAX_DIMENSION:
            fail(f"hidden_size is {hidden}, expected 1 to {MAX_DIMENSION // (2 * GATES[mode])}")
        steps, batch, features = t.input.shape
        directions = 2 if a["direction"] == "bidirectional" else 1
        width, state = GATES[mode] * hidden, (directions, batch, hidden)
        expect_shape("weight", t.weight.shape, (directions, width, features))
        expect_shape("recurrent_weight", t.recurrent_weight.shape, (directions, width, hidden))
        expected = {"bias": (directions, 2 * width), "sequence_lens": (batch,), "initial_h": state, "initial_c": state}
        for name, shape in {**expected, "peephole": (directions, 3 * hidden)}.items():
            if (given := getattr(t, name)) is not None:
                expect_shape(name, given.shape, shape)
                if name in ("initial_c", "peephole") and mode != "lstm":
                    fail(f"{name} is given, but mode is {mode}, expected lstm")
        if a["clip"] is not None and a["clip"] < 0:
            fail(f"clip is {a['clip']}, expected a number of at least 0")
        _complete_activations(a, directions)
        last = TensorType(t.input.dtype, check_shape(state, zero=True))
        every = TensorType(t.input.dtype, check_shape((steps, *state), zero=True))
        return [every, last, last] if mode == "lstm" else [every, last]

    def operations(self, t: Types, a: Attrs, out: Sequence[TensorType]) -> Dim:
        steps, batch, _ = t.input.shape
        return 2 * steps * batch * (t.weight.size + t.recurrent_weight.size)

    def evaluate(self, x: Arrays, a: Attrs, out: Sequence[TensorType]) -> Sequence[np.ndarray]:
        return [narrow(value, output) for value, output in zip(run(x, a), out)]


def _complete_activations(a: Attrs, directions: int) -> None:
    usual = _USUAL[a["mode"]]
    count = len(usual) * directions
    if a["activations"] is None:
        a["activations"] = usual * directions
    if len(a["activations"]) != count:
        fail(f"activations names {len(a['activations'])} functions, expected {count}: {len(usual)} for each direction")
    for i, name in enumerate(("activation_alpha", "activation_beta")):
        if a[name] is None:
            a[name] = tuple(DEFAULTS.get(function, (0.0, 0.0))[i] for function in a["activations"])
        if len(a[name]) != count:
            fail(f"{name} has {len(a[name])} numbers, expected {count}: one for each of the activations")
