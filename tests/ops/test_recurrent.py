"""Recurrent networks against a cell written number by number, as in the papers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import arrays, assert_rounded, float_types, infer, run

FUNCTIONS = {
    "relu": lambda v: max(v, 0.0),
    "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "tanh": math.tanh,
}
names = st.sampled_from(sorted(FUNCTIONS))
Numbers = list[float]
Parameters = dict[str, Any]
"""Operands of one direction as nested lists (None if absent), with layout, activations and reset_after."""


def affine(p: Parameters, gate: str, x: Numbers, h: Numbers, *, inner: bool = True) -> tuple[Numbers, Numbers]:
    """The input's and the hidden state's share of a gate, with their biases."""
    size = len(h)
    rows = range(p["layout"].index(gate) * size, (p["layout"].index(gate) + 1) * size)

    def share(weights: Sequence[Numbers], vector: Numbers, bias: Numbers | None) -> Numbers:
        return [math.fsum(w * v for w, v in zip(weights[r], vector)) + (bias[r] if bias else 0.0) for r in rows]

    return share(p["weight"], x, p["bias"]), share(p["recurrent_weight"], h, p["recurrent_bias"])


def gru_cell(p: Parameters, x: Numbers, states: list[Numbers]) -> list[Numbers]:
    (h,) = states
    gate, new = (FUNCTIONS[name] for name in p["activations"])
    z, r = ([gate(a + b) for a, b in zip(*affine(p, letter, x, h))] for letter in "zr")
    if p["reset_after"]:
        n = [new(a + s * b) for a, b, s in zip(*affine(p, "n", x, h), r)]
    else:
        n = [new(a + b) for a, b in zip(*affine(p, "n", x, [s * v for s, v in zip(r, h)]))]
    return [[u * old + (1 - u) * v for u, old, v in zip(z, h, n)]]


def lstm_cell(p: Parameters, x: Numbers, states: list[Numbers]) -> list[Numbers]:
    h, c = states
    size = len(h)
    gate, candidate, output = (FUNCTIONS[name] for name in p["activations"])
    gates = {}
    for k, letter in enumerate("iof"):
        peephole = p["peephole_weight"][k * size : (k + 1) * size] if p["peephole_weight"] else [0.0] * size
        gates[letter] = [gate(a + b + w * v) for a, b, w, v in zip(*affine(p, letter, x, h), peephole, c)]
    g = [candidate(a + b) for a, b in zip(*affine(p, "g", x, h))]
    cell = [f * old + i * v for f, old, i, v in zip(gates["f"], c, gates["i"], g)]
    return [[o * output(v) for o, v in zip(gates["o"], cell)], cell]


CELLS = {"gru": gru_cell, "lstm": lstm_cell}


@st.composite
def networks(draw: st.DrawFn, kind: str, cell: bool) -> tuple[np.ndarray, dict[str, Any], dict[str, Any]]:
    """An input, the other operands, and the options; a cell has neither steps nor directions."""
    dtype, batch, features, hidden = (
        draw(float_types),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
    )
    count = 4 if kind == "lstm" else 3
    options: dict[str, Any] = {"hidden_size": hidden}
    options["layout"] = draw(st.sampled_from(["iofg", "ifgo"] if kind == "lstm" else ["zrn", "rzn"]))
    options["activations"] = draw(st.none() | st.tuples(*[names] * (count - 1)))
    if kind == "gru":
        options["reset_after"] = draw(st.booleans())
    lead: tuple[int, ...] = ()
    if not cell:
        options["direction"] = draw(st.sampled_from(["forward", "backward", "both"]))
        options["return_sequence"] = draw(st.booleans())
        options["steps"] = draw(st.integers(1, 3))
        lead = (2 if options["direction"] == "both" else 1,)
    steps = () if cell else (options["steps"],)

    def optional(*shape: int) -> np.ndarray | None:
        return draw(st.none() | arrays((*lead, *shape), dtype, -1, 1))

    operands = {
        "weight": draw(arrays((*lead, count * hidden, features), dtype, -1, 1)),
        "recurrent_weight": draw(arrays((*lead, count * hidden, hidden), dtype, -1, 1)),
        "bias": optional(count * hidden),
        "recurrent_bias": optional(count * hidden),
    }
    if kind == "lstm":
        operands["peephole_weight"] = optional(3 * hidden)
    for state in ("hidden_state", "cell_state")[: 2 if kind == "lstm" else 1]:
        if cell:
            operands[state] = draw(arrays((batch, hidden), dtype, -1, 1))
        else:
            operands[f"initial_{state}"] = optional(batch, hidden)
    return draw(arrays((*steps, batch, features), dtype, -1, 1)), operands, options


def parameters(kind: str, operands: dict[str, Any], options: dict[str, Any], direction: int | None) -> Parameters:
    wide = {k: None if v is None else v.astype(np.float64) for k, v in operands.items()}
    lists = {k: None if v is None else (v if direction is None else v[direction]).tolist() for k, v in wide.items()}
    default = ("sigmoid", "tanh") if kind == "gru" else ("sigmoid", "tanh", "tanh")
    return {**lists, **options, "activations": options["activations"] or default}


def walk(kind: str, x: np.ndarray, p: Parameters, backward: bool) -> tuple[np.ndarray, np.ndarray]:
    """Last states [states, batch, hidden] and hidden states [steps, batch, hidden] of one direction."""
    steps, batch, _ = x.shape
    keys = ["initial_hidden_state", "initial_cell_state"][: 2 if kind == "lstm" else 1]
    last = np.empty((len(keys), batch, p["hidden_size"]))
    every = np.empty((steps, batch, p["hidden_size"]))
    for n in range(batch):
        states = [p[key][n] if p[key] else [0.0] * p["hidden_size"] for key in keys]
        for t in reversed(range(steps)) if backward else range(steps):
            states = CELLS[kind](p, x[t, n].astype(np.float64).tolist(), states)
            every[t, n] = states[0]
        last[:, n] = states
    return last, every


@pytest.mark.parametrize("kind", CELLS)
@given(st.data())
def test_cell(kind: str, data: st.DataObject) -> None:
    x, operands, options = data.draw(networks(kind, cell=True))
    p = parameters(kind, operands, options, None)
    results = run(f"{kind}_cell", input=x, **operands, **options)
    states = [p["hidden_state"], p["cell_state"]] if kind == "lstm" else [p["hidden_state"]]
    exact = [CELLS[kind](p, x[n].astype(np.float64).tolist(), [s[n] for s in states]) for n in range(len(x))]
    for result, values in zip(results, np.array(exact).swapaxes(0, 1), strict=True):
        assert_rounded(result, values)


@pytest.mark.parametrize("kind", CELLS)
@given(st.data())
def test_sequence(kind: str, data: st.DataObject) -> None:
    x, operands, options = data.draw(networks(kind, cell=False))
    *last, every = [*run(kind, input=x, **operands, **options), *([] if options["return_sequence"] else [None])]
    walks = [
        walk(kind, x, parameters(kind, operands, options, d), d == 1 or options["direction"] == "backward")
        for d in range(len(operands["weight"]))
    ]
    for k, result in enumerate(last):
        assert_rounded(result, np.stack([states[k] for states, _ in walks]))
    if every is not None:
        assert_rounded(every, np.stack([sequence for _, sequence in walks], 1))


def test_symbolic_batch_and_steps() -> None:
    given: dict[str, Any] = {"weight": "f32[2, 32, 5]", "recurrent_weight": "f32[2, 32, 8]", "hidden_size": 8}
    outputs = infer("lstm", input="f32[4, n, 5]", **given, steps=4, direction="both", return_sequence=True)
    assert outputs == ["float32[2, n, 8]", "float32[2, n, 8]", "float32[4, 2, n, 8]"]
    assert infer("lstm", input="f32[s, n, 5]", **given, steps=7, direction="both") == ["float32[2, n, 8]"] * 2
