"""Recurrent networks in NumPy: the cells' arithmetic in float64, and the walk along a sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import special
from .rounding import widen

Gates = dict[str, np.ndarray]
"""One array a gate, by the gate's letter in the layout."""
States = tuple[np.ndarray, ...]
"""The hidden state, and for LSTM the cell state, [batch, hidden] each."""
Step = Callable[[Gates, States, "Weights"], States]

_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": special.sigmoid,
    "tanh": np.tanh,
}


class Weights:
    """One direction's weights of a cell in float64, split into gates."""

    def __init__(self, x: SimpleNamespace, a: Mapping[str, Any], direction: int | None = None) -> None:
        def take(name: str) -> np.ndarray | None:
            given = getattr(x, name, None)
            return None if given is None else widen(given if direction is None else given[direction])

        self.layout: str = a["layout"]
        self.activations = [_ACTIVATIONS[name] for name in a["activations"]]
        self.reset_after: bool = a.get("reset_after", False)
        self.weight = widen(x.weight if direction is None else x.weight[direction])
        self.bias = take("bias")
        recurrent, size = take("recurrent_weight"), len(self.layout) * a["hidden_size"]
        bias, peephole = take("recurrent_bias"), take("peephole_weight")
        assert recurrent is not None
        self.recurrent = self.split(recurrent)
        self.recurrent_bias = self.split(np.zeros(size) if bias is None else bias)
        self.peephole = dict(zip("iof", np.split(np.zeros(3 * a["hidden_size"]) if peephole is None else peephole, 3)))

    def split(self, x: np.ndarray, axis: int = 0) -> Gates:
        """An array's parts along an axis, by gate."""
        return dict(zip(self.layout, np.split(x, len(self.layout), axis)))

    def project(self, x: np.ndarray) -> np.ndarray:
        """The input's share of all gates, [..., gates * hidden], with its bias."""
        projected = widen(x) @ self.weight.T
        return projected if self.bias is None else projected + self.bias


def gru_step(inputs: Gates, states: States, w: Weights) -> States:
    """One step of a gated recurrent unit: update (z), reset (r) and new (n) gate."""
    (hidden,) = states
    gate, new = w.activations
    z, r = (gate(inputs[g] + w.recurrent_bias[g] + hidden @ w.recurrent[g].T) for g in "zr")
    if w.reset_after:
        n = new(inputs["n"] + r * (w.recurrent_bias["n"] + hidden @ w.recurrent["n"].T))
    else:
        n = new(inputs["n"] + w.recurrent_bias["n"] + (r * hidden) @ w.recurrent["n"].T)
    return (z * hidden + n * (1 - z),)


def lstm_step(inputs: Gates, states: States, w: Weights) -> States:
    """One step of long short-term memory; the peepholes of all gates see the previous cell state."""
    hidden, cell = states
    gate, candidate, output = w.activations
    total = {g: inputs[g] + w.recurrent_bias[g] + hidden @ w.recurrent[g].T for g in "iofg"}
    i, o, f = (gate(total[g] + w.peephole[g] * cell) for g in "iof")
    cell = f * cell + i * candidate(total["g"])
    return o * output(cell), cell


def run_cell(step: Step, x: SimpleNamespace, a: Mapping[str, Any], states: Sequence[np.ndarray]) -> States:
    """The states after one step."""
    weights = Weights(x, a)
    with np.errstate(all="ignore"):
        return step(weights.split(weights.project(x.input), -1), tuple(widen(s) for s in states), weights)


def run_sequence(
    step: Step, x: SimpleNamespace, a: Mapping[str, Any], initial: Sequence[np.ndarray | None]
) -> tuple[list[np.ndarray], np.ndarray]:
    """The last states [directions, batch, hidden] and every hidden state [steps, directions, batch, hidden]."""
    steps, batch = x.input.shape[:2]
    directions, hidden = x.weight.shape[0], a["hidden_size"]
    last = [np.empty((directions, batch, hidden)) for _ in initial]
    every = np.empty((steps, directions, batch, hidden))
    for d in range(directions):
        weights = Weights(x, a, d)
        states = tuple(np.zeros((batch, hidden)) if s is None else widen(s[d]) for s in initial)
        with np.errstate(all="ignore"):
            projected = weights.project(x.input)
            backward = d == 1 or a["direction"] == "backward"
            for t in range(steps - 1, -1, -1) if backward else range(steps):
                states = step(weights.split(projected[t], -1), states, weights)
                every[t, d] = states[0]
        for result, state in zip(last, states):
            result[d] = state
    return last, every
