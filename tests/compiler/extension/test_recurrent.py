"""Compiled recurrent networks of every form, against their NumPy semantics."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from basalt.compiler.ir import Value
from basalt.compiler.model import Model
from basalt.ops import symbol

from ..compiled.forms import Bench, Tolerance
from ..making import Maker

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def _network(
    bench: Bench, mode: str, *, steps: int = 5, batch: int = 3, features: int = 4, hidden: int = 3, full: bool = True,
    lens: list[int] | None = None, dtype: str = "float32", constant: bool = False, **options: Any,
) -> tuple[Value, ...]:  # fmt: skip
    numbers, width = bench.numbers, GATES[mode] * hidden
    directions = 2 if options.get("direction") == "bidirectional" else 1

    def operand(*shape: int, weights: bool = True) -> Value:
        array = numbers.normal(size=shape) * 0.5
        return bench.maker.constant(array, dtype) if weights and constant else bench.input(array, dtype)

    given: dict[str, Value] = {}
    if full:
        given = {"bias": operand(directions, 2 * width), "initial_h": operand(directions, batch, hidden, weights=False)}
    if full and mode == "lstm":
        given["initial_c"] = operand(directions, batch, hidden, weights=False)
        given["peephole"] = operand(directions, 3 * hidden)
    if lens is not None:
        given["sequence_lens"] = bench.input(np.array(lens), "int32")
    operands = [operand(steps, batch, features, weights=False), operand(directions, width, features)]
    operands.append(operand(directions, width, hidden))
    return bench.maker.call("recurrent", *operands, mode, hidden, **given, **options)  # type: ignore[no-any-return]


CASES: list[tuple[str, dict[str, Any]]] = [
    ("rnn", {"full": False}),
    ("rnn", {"direction": "bidirectional", "lens": [5, 0, 3], "activations": ["leaky_relu", "softplus"]}),
    ("gru", {"clip": 0.5, "hidden": 17, "batch": 9}),
    ("gru", {"direction": "bidirectional", "lens": [5, 1, 3], "linear_before_reset": True, "constant": True}),
    ("lstm", {"direction": "bidirectional", "hidden": 40, "batch": 6, "steps": 3, "constant": True}),
    ("lstm", {"direction": "reverse", "lens": [9, 2, -3], "clip": 0.3, "input_forget": True}),
    ("lstm", {"full": False, "hidden": 130, "batch": 1}),
    ("lstm", {"peephole_previous": True, "batch": 5}),
    ("gru", {"steps": 1, "features": 1, "hidden": 1, "batch": 1}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_every_form(case: int) -> None:
    mode, options = CASES[case]
    bench = Bench(Random(case))
    outputs = _network(bench, mode, **options)
    bench.check(
        [v for y in outputs for v in bench.result(y)], Tolerance(scaled=1e-5, absolute=1e-6, signed_zeros=False)
    )


@pytest.mark.parametrize(("dtype", "scaled"), [("float64", 1e-12), ("float16", 4e-3), ("bfloat16", 3e-2)])
@pytest.mark.parametrize("constant", [False, True])
def test_data_types(dtype: str, scaled: float, constant: bool) -> None:
    bench = Bench(Random(1))
    outputs = _network(bench, "lstm", dtype=dtype, constant=constant)
    bench.check(outputs, Tolerance(scaled=scaled, signed_zeros=False))


@pytest.mark.parametrize(
    "name", ["relu", "affine", "thresholded_relu", "scaled_tanh", "hard_sigmoid", "elu", "softsign"]
)
def test_activations(name: str) -> None:
    bench = Bench(Random(2))
    options = {"activations": [name], "activation_alpha": [0.7], "activation_beta": [0.4]}
    bench.check(_network(bench, "rnn", **options), Tolerance(scaled=1e-5, absolute=1e-6, signed_zeros=False))


@pytest.mark.parametrize("batches", [(2, 3, 7), (1, 4, 2)])
def test_further_batches_keep_every_row(batches: tuple[int, ...]) -> None:
    """The choices of a graph's first program are kept for others, whatever the batch they were made for."""
    numbers = np.random.default_rng(0)
    weights = [numbers.normal(size=s).astype(np.float32) for s in ((1, 12, 4), (1, 12, 3))]
    maker = Maker()
    x = maker.input("x", "float32", (5, symbol("batch"), 4))
    every, last, cell = maker.call("recurrent", x, *[maker.constant(w) for w in weights], "lstm", 3)
    model = Model(maker.graph(every=every, last=last, cell=cell), maker.constants)
    for batch in batches:
        given = numbers.normal(size=(5, batch, 4)).astype(np.float32)
        results = model.run({"x": given})
        for row in range(batch):
            alone = model.run({"x": given[:, row : row + 1]})
            for name, result in results.items():
                axis = 2 if name == "every" else 1
                np.testing.assert_allclose(result.take([row], axis), alone[name], rtol=1e-5, atol=1e-6)
