"""Recurrent networks: directions, layouts of gates, activations, biases, peepholes, and what ONNX says otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.errors import UnsupportedError

from .one_operator import FLOATS, check, numbers

HIDDEN, STEPS = 3, 4
NEAR = {"float32": 1e-4, "float16": 0.05, "bfloat16": 0.3}
DIRECTIONS = (("forward", 1), ("backward", 1), ("both", 2))
each_direction = pytest.mark.parametrize(("direction", "count"), DIRECTIONS)


def weights(dtype: str, gates: int, count: int) -> dict[str, np.ndarray]:
    small = {"low": -0.4, "high": 0.4}
    return {
        "input": numbers(dtype, STEPS, 2, 5),
        "weight": numbers(dtype, count, gates * HIDDEN, 5, **small),  # type: ignore[arg-type]
        "recurrent_weight": numbers(dtype, count, gates * HIDDEN, HIDDEN, **small),  # type: ignore[arg-type]
    }


def more(dtype: str, gates: int, count: int, states: tuple[str, ...]) -> dict[str, np.ndarray]:
    biases = {name: numbers(dtype, count, gates * HIDDEN, low=-1, high=1) for name in ("bias", "recurrent_bias")}
    return biases | {f"initial_{name}": numbers(dtype, count, 2, HIDDEN, low=-1, high=1) for name in states}


def one_step(operands: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The operands of a cell from those of a sequence in one direction."""
    return {name.removeprefix("initial_"): x[0] for name, x in operands.items()}


@pytest.mark.parametrize("dtype", FLOATS)
@each_direction
@pytest.mark.parametrize("layout", ["zrn", "rzn"])
@pytest.mark.parametrize("reset_after", [True, False])
def test_gru(dtype: str, direction: str, count: int, layout: str, reset_after: bool) -> None:
    options: dict[str, Any] = {"layout": layout, "reset_after": reset_after, "tolerance": NEAR.get(dtype)}
    plain, states = weights(dtype, 3, count), more(dtype, 3, count, ("hidden_state",))
    check("gru", plain, STEPS, HIDDEN, direction=direction, **options)
    every = {"return_sequence": True, "activations": ("sigmoid", "relu"), "constant": ("weight",), "again": False}
    check("gru", plain | states, STEPS, HIDDEN, direction=direction, **every, **options)
    if direction == "forward":
        check("gru_cell", one_step(plain | states), HIDDEN, **options)


@pytest.mark.parametrize("dtype", FLOATS)
@each_direction
@pytest.mark.parametrize("layout", ["iofg", "ifgo"])
def test_lstm(dtype: str, direction: str, count: int, layout: str) -> None:
    options: dict[str, Any] = {"layout": layout, "tolerance": NEAR.get(dtype)}
    plain, states = weights(dtype, 4, count), more(dtype, 4, count, ("hidden_state", "cell_state"))
    check("lstm", plain, STEPS, HIDDEN, direction=direction, **options)
    every = {"return_sequence": True, "activations": ("sigmoid", "tanh", "relu"), "again": False}
    check("lstm", plain | states, STEPS, HIDDEN, direction=direction, **every, **options)
    peepholes = {"peephole_weight": numbers(dtype, count, 3 * HIDDEN, low=-1, high=1)}
    model = check("lstm", plain | states | peepholes, STEPS, HIDDEN, direction=direction, **options)
    assert not [node for node in model.nodes if node.op_type == "LSTM"], "ONNX's output gate sees the new cell state"
    if direction == "forward":
        check("lstm_cell", one_step(plain | states | peepholes), HIDDEN, **options)


def test_peepholes_that_spare_the_output_gate_are_onnx_own() -> None:
    peephole = numbers("float32", 1, 3 * HIDDEN)
    peephole[:, HIDDEN : 2 * HIDDEN] = 0
    operands = weights("float32", 4, 1) | {"peephole_weight": peephole}
    model = check("lstm", operands, STEPS, HIDDEN, constant=("peephole_weight",))
    assert [node.op_type for node in model.nodes] == ["LSTM"]


def test_what_onnx_cannot_say_of_peepholes_is_refused() -> None:
    operands = weights("float32", 4, 1) | {"peephole": numbers("float32", 1, 3 * HIDDEN)}
    with pytest.raises(UnsupportedError, match=r"recurrent \(node 0\): .*peephole_previous must be False"):
        check("recurrent", operands, "lstm", HIDDEN, peephole_previous=True)


ACTIVATIONS = {"rnn": ("affine",), "gru": ("hard_sigmoid", "tanh"), "lstm": ("sigmoid", "leaky_relu", "scaled_tanh")}


@pytest.mark.parametrize("mode", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize(("direction", "count"), [("forward", 1), ("reverse", 1), ("bidirectional", 2)])
def test_networks_in_onnx_own_form(mode: str, direction: str, count: int) -> None:
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[mode]
    operands = weights("float32", gates, count)
    options: dict[str, Any] = {"direction": direction, "tolerance": 1e-4}
    check("recurrent", operands, mode, HIDDEN, **options)
    functions = ACTIVATIONS[mode] * count
    operands |= {
        "bias": numbers("float32", count, 2 * gates * HIDDEN, low=-1, high=1),
        "sequence_lens": np.array([4, 2], np.int32),
        "initial_h": numbers("float32", count, 2, HIDDEN, low=-1, high=1),
    }
    factors = {"activation_alpha": (0.3,) * len(functions), "activation_beta": (0.7,) * len(functions)}
    check("recurrent", operands, mode, HIDDEN, activations=functions, clip=0.5, **factors, **options)
