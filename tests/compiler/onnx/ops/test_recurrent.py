"""RNN, GRU and LSTM in all versions and with all options, against NumPy (which agrees with ONNX Runtime)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.onnx.tensor import onnx_dtype
from basalt.errors import BasaltError

from .one_node import allowed, close, executable, run, versions
from .recurrent_oracle import FUNCTIONS, recurrent

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
PARAMETERS = {"LeakyRelu": 1, "ThresholdedRelu": 1, "Elu": 1, "Affine": 2, "ScaledTanh": 2, "HardSigmoid": 2}
STEPS, BATCH, FEATURES, HIDDEN = 4, 3, 5, 2
CASES = [(op, version) for op in GATES for version in versions(op)]
OUTPUTS = {"RNN": 2, "GRU": 2, "LSTM": 3}


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, shape)).astype(onnx_dtype(dtype))


def operands(op: str, directions: int = 1, optional: int = 8, by_batch: bool = False, dtype: str = "float32") -> Any:
    """The inputs in order; those after the third come with the first ``optional``."""
    rows, state = GATES[op] * HIDDEN, (directions, BATCH, HIDDEN)
    if by_batch:
        state = (BATCH, directions, HIDDEN)
    lead = (BATCH, STEPS) if by_batch else (STEPS, BATCH)
    shapes: list[Any] = [(*lead, FEATURES), (directions, rows, FEATURES), (directions, rows, HIDDEN)]
    shapes += [(directions, 2 * rows), None, state]
    shapes += [state, (directions, 3 * HIDDEN)] if op == "LSTM" else []
    made = [None if s is None else numbers(*s, seed=i, dtype=dtype) for i, s in enumerate(shapes)]
    return made[: max(3, optional)]


def directions_of(direction: str) -> int:
    return 2 if direction == "bidirectional" else 1


def usual(op: str, directions: int) -> list[list[Any]]:
    return [[FUNCTIONS[name] for name in USUAL[op]]] * directions


@st.composite
def networks(draw: Any) -> tuple[str, int, list[Any], dict[str, Any], list[list[Any]]]:
    op, version = draw(st.sampled_from(CASES))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    count = directions_of(direction)
    by_batch = version >= 14 and draw(st.booleans())
    inputs = operands(op, count, draw(st.integers(3, 8)), by_batch)
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": HIDDEN}
    if by_batch:
        attributes["layout"] = 1
    if len(inputs) > 4 and draw(st.booleans()):
        inputs[4] = np.array([STEPS, 2, 0], np.int32)
    if draw(st.booleans()):
        attributes["clip"] = 0.25
    if op == "GRU" and version >= 3:
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    if op == "LSTM":
        attributes["input_forget"] = draw(st.integers(0, 1))
    functions = usual(op, count)
    if draw(st.booleans()):
        names = [draw(st.sampled_from(sorted(FUNCTIONS))) for _ in range(count * len(USUAL[op]))]
        alphas = [draw(st.sampled_from([0.25, 0.5])) for name in names if name in PARAMETERS]
        betas = [draw(st.sampled_from([0.25, 0.5])) for name in names if PARAMETERS.get(name) == 2]
        attributes["activations"] = names
        if alphas:
            attributes["activation_alpha"] = alphas
        if betas:
            attributes["activation_beta"] = betas
        functions = chosen(names, alphas, betas, count)
    return op, version, inputs, attributes, functions


def chosen(names: list[str], alphas: list[float], betas: list[float], directions: int) -> list[list[Any]]:
    first, second = iter(alphas), iter(betas)
    made = []
    for name in names:
        given_parameters = [next(first)] if name in PARAMETERS else []
        given_parameters += [next(second)] if PARAMETERS.get(name) == 2 else []
        made.append(lambda x, f=FUNCTIONS[name], p=tuple(given_parameters): f(x, *p))
    each = len(names) // directions
    return [made[d * each : (d + 1) * each] for d in range(directions)]


@settings(max_examples=120)
@given(networks())
def test_networks_with_any_options(network: Any) -> None:
    op, version, inputs, attributes, functions = network
    found = run(op, version, *inputs, outputs=OUTPUTS[op], compiled=False, **attributes)
    for result, wanted in zip(found, recurrent(op, inputs, functions, **attributes), strict=True):
        close(result, wanted, "float32", 64)


@pytest.mark.parametrize(("op", "version"), CASES)
def test_every_version_compiled(op: str, version: int) -> None:
    inputs = operands(op)
    found = run(op, version, *inputs, outputs=OUTPUTS[op], hidden_size=HIDDEN)
    for result, wanted in zip(found, recurrent(op, inputs, usual(op, 1)), strict=True):
        close(result, wanted, "float32", 16)


@pytest.mark.parametrize(
    ("op", "version", "dtype"), [(op, v, t) for op, v in CASES for t in allowed(op, v) if t != "float32"]
)
def test_every_version_takes_its_types(op: str, version: int, dtype: str) -> None:
    inputs = operands(op, dtype=dtype)
    found = run(op, version, *inputs, outputs=OUTPUTS[op], compiled=False, hidden_size=HIDDEN)
    for result, wanted in zip(found, recurrent(op, inputs, usual(op, 1)), strict=True):
        close(result, wanted, dtype, 16)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("op", ["GRU", "LSTM"])
def test_two_directions_of_whole_sequences_compiled(op: str, layout: int) -> None:
    """What the core's own operators say, peepholes of the output gate left out."""
    inputs = operands(op, 2, 7, bool(layout))
    inputs[4] = np.full(BATCH, STEPS, np.int32)
    found = run(op, 14, *inputs, outputs=OUTPUTS[op], known=[4], direction="bidirectional", layout=layout)
    wanted = recurrent(op, inputs, usual(op, 2), direction="bidirectional", layout=layout)
    for result, expected in zip(found, wanted, strict=True):
        close(result, expected, "float32", 16)


@pytest.mark.parametrize("output_gate", [0.0, 0.5])
def test_a_peephole_of_the_output_gate_sees_the_new_state(output_gate: float) -> None:
    inputs = operands("LSTM")
    inputs[7][:, HIDDEN : 2 * HIDDEN] = output_gate
    found = run("LSTM", 22, *inputs, outputs=3, known=[7], compiled=False)
    for result, wanted in zip(found, recurrent("LSTM", inputs, usual("LSTM", 1)), strict=True):
        close(result, wanted, "float32", 16)


def test_lengths_may_come_with_each_call() -> None:
    inputs = operands("GRU")
    inputs[4] = np.array([1, 4, 2], np.int32)
    loaded = executable("GRU", 14, inputs, 2, known=[1, 2, 3])
    for lengths in ([1, 4, 2], [4, 4, 4], [0, 0, 3]):
        inputs[4] = np.array(lengths, np.int32)
        results = loaded.run({f"x{i}": inputs[i] for i in (0, 4, 5)})
        for name, wanted in zip(("y0", "y1"), recurrent("GRU", inputs, usual("GRU", 1)), strict=True):
            close(results[name], wanted, "float32", 16)


def test_steps_and_batch_may_be_symbolic() -> None:
    inputs = operands("LSTM", optional=4)
    loaded = executable("LSTM", 22, inputs, 3, known=[1, 2, 3], symbolic=True)
    for steps, batch in ((4, 3), (1, 1), (6, 2)):
        inputs[0] = numbers(steps, batch, FEATURES)
        results = loaded.run({"x0": inputs[0]})
        for name, wanted in zip(("y0", "y1", "y2"), recurrent("LSTM", inputs, usual("LSTM", 1)), strict=True):
            close(results[name], wanted, "float32", 16)


@pytest.mark.parametrize("op", list(GATES))
def test_the_last_states_of_no_steps_are_0(op: str) -> None:
    inputs = operands(op, optional=4)
    inputs[0] = numbers(0, BATCH, FEATURES)
    every, last, *_ = run(op, 22, *inputs, outputs=OUTPUTS[op], compiled=False)
    assert every.shape == (0, 1, BATCH, HIDDEN)
    assert not last.any()


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("RNN", {"activations": ["Cos"]}, "'Cos'"),
        ("GRU", {"activations": ["Tanh"]}, "1 functions, expected 2"),
        ("LSTM", {"direction": "both"}, "direction is 'both'"),
        ("LSTM", {"hidden_size": 3}, "hidden_size is 3"),
        ("GRU", {"direction": "bidirectional"}, "weight has shape"),
        ("RNN", {"clip": -1.0}, "clip is -1"),
    ],
)
def test_what_the_standard_does_not_allow_is_refused(op: str, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(BasaltError, match=message):
        run(op, 22, *operands(op), outputs=2, compiled=False, **attributes)


def test_weights_must_be_matrices_for_each_direction() -> None:
    inputs = operands("RNN")
    with pytest.raises(BasaltError, match="input W has rank 2"):
        run("RNN", 22, inputs[0], inputs[1][0], inputs[2], compiled=False)
