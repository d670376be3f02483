"""Compiled recurrent networks against their NumPy semantics: every option, shapes about the width of a vector."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from basalt.compiler.ir import Value
from basalt.ops import numpy_dtype

from .forms import Bench, Tolerance, benches

SIZES = (1, 2, 3, 5, 8, 15, 16, 17, 33)
ACTIVATIONS = ("sigmoid", "tanh", "relu")
FORMS = ("plain", "plain", "constant", "transposed", "sliced", "stretched")


class _Sizes:
    def __init__(self, bench: Bench, gates: int) -> None:
        random = bench.random
        self.steps, self.batch = random.choice((1, 2, 5)), random.choice((1, 2, 3, 16))
        self.features, self.hidden = random.choice(SIZES), random.choice(SIZES)
        self.direction = random.choice(("forward", "backward", "both"))
        self.directions = 2 if self.direction == "both" else 1
        self.width = gates * self.hidden


def _operand(bench: Bench, shape: tuple[int, ...], dtype: str) -> Value:
    array = (bench.numbers.normal(size=shape) * 0.4).astype(numpy_dtype(dtype))
    return bench.operand(array, dtype, FORMS)


def _optional(bench: Bench, dtype: str, **shapes: tuple[int, ...]) -> dict[str, Value]:
    return {name: _operand(bench, shape, dtype) for name, shape in shapes.items() if bench.random.random() < 0.6}


def _check(bench: Bench, results: Any, dtype: str) -> None:
    values = results if isinstance(results, tuple) else (results,)
    outputs = [v for r in values for v in bench.result(r, ("plain", "plain", "transposed", "joined"))]
    # relu gates let states, and the rounding in them, grow with every step.
    bench.check(outputs, Tolerance(ulps=8.0, scaled=4e-3 if dtype == "float16" else 1e-4, signed_zeros=False))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@settings(max_examples=16)
@given(bench=benches())
def test_lstm(dtype: str, bench: Bench) -> None:
    s = _Sizes(bench, 4)
    x, w, r = (
        _operand(bench, shape, dtype)
        for shape in (
            (s.steps, s.batch, s.features), (s.directions, s.width, s.features), (s.directions, s.width, s.hidden)
        )
    )  # fmt: skip
    state = (s.directions, s.batch, s.hidden)
    given_ones = _optional(
        bench, dtype, bias=(s.directions, s.width), recurrent_bias=(s.directions, s.width),
        peephole_weight=(s.directions, 3 * s.hidden), initial_hidden_state=state, initial_cell_state=state,
    )  # fmt: skip
    options = {"layout": bench.random.choice(("iofg", "ifgo")), "return_sequence": bench.random.random() < 0.5}
    activations = [bench.random.choice(ACTIVATIONS) for _ in range(3)]
    y = bench.maker.lstm(
        x, w, r, s.steps, s.hidden, direction=s.direction, activations=activations, **options, **given_ones
    )
    _check(bench, y, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@settings(max_examples=16)
@given(bench=benches())
def test_gru(dtype: str, bench: Bench) -> None:
    s = _Sizes(bench, 3)
    x, w, r = (
        _operand(bench, shape, dtype)
        for shape in (
            (s.steps, s.batch, s.features), (s.directions, s.width, s.features), (s.directions, s.width, s.hidden)
        )
    )  # fmt: skip
    given_ones = _optional(
        bench, dtype, bias=(s.directions, s.width), recurrent_bias=(s.directions, s.width),
        initial_hidden_state=(s.directions, s.batch, s.hidden),
    )  # fmt: skip
    options: dict[str, Any] = {
        "layout": bench.random.choice(("zrn", "rzn")),
        "reset_after": bench.random.random() < 0.5,
        "return_sequence": bench.random.random() < 0.5,
    }
    activations = [bench.random.choice(ACTIVATIONS) for _ in range(2)]
    y = bench.maker.gru(
        x, w, r, s.steps, s.hidden, direction=s.direction, activations=activations, **options, **given_ones
    )
    _check(bench, y, dtype)


@pytest.mark.parametrize("op", ["lstm_cell", "gru_cell"])
@settings(max_examples=12)
@given(bench=benches())
def test_cells(op: str, bench: Bench) -> None:
    gates = 4 if op == "lstm_cell" else 3
    s = _Sizes(bench, gates)
    states = 2 if op == "lstm_cell" else 1
    required = [(s.batch, s.features), (s.width, s.features), (s.width, s.hidden), *[(s.batch, s.hidden)] * states]
    optional = {"bias": (s.width,), "recurrent_bias": (s.width,)}
    if op == "lstm_cell":
        optional["peephole_weight"] = (3 * s.hidden,)
    else:
        optional |= {}
    operands = [_operand(bench, shape, "float32") for shape in required]
    options = {} if op == "lstm_cell" else {"reset_after": bench.random.random() < 0.5}
    y = bench.maker.call(op, *operands, s.hidden, **_optional(bench, "float32", **optional), **options)
    _check(bench, y, "float32")
