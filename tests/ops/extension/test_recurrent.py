"""Recurrent networks of every form, against loops over single features in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from basalt.errors import ValidationError

from ..calling import infer, outputs

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
FUNCTIONS = {
    "relu": lambda x, a, b: max(x, 0.0),
    "tanh": lambda x, a, b: math.tanh(x),
    "sigmoid": lambda x, a, b: 1 / (1 + math.exp(-x)),
    "affine": lambda x, a, b: a * x + b,
    "leaky_relu": lambda x, a, b: x if x >= 0 else a * x,
    "thresholded_relu": lambda x, a, b: x if x > a else 0.0,
    "scaled_tanh": lambda x, a, b: a * math.tanh(b * x),
    "hard_sigmoid": lambda x, a, b: min(max(a * x + b, 0.0), 1.0),
    "elu": lambda x, a, b: x if x >= 0 else a * (math.exp(x) - 1),
    "softsign": lambda x, a, b: x / (1 + abs(x)),
    "softplus": lambda x, a, b: math.log(1 + math.exp(x)),
}


class Case:
    """Random operands of a network, and what it gives."""

    def __init__(self, mode: str, direction: str, *, full: bool, lens: list[int] | None, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.mode, self.direction, self.size = mode, direction, 3
        directions, width = 2 if direction == "bidirectional" else 1, GATES[mode] * self.size
        self.x, self.w = self._draw(4, 3, 2), self._draw(directions, width, 2)
        self.r = self._draw(directions, width, self.size)
        self.given: dict[str, np.ndarray] = {}
        if full:
            self.given = {"bias": self._draw(directions, 2 * width), "initial_h": self._draw(directions, 3, self.size)}
        if full and mode == "lstm":
            self.given |= {"initial_c": self._draw(directions, 3, 3), "peephole": self._draw(directions, 9)}
        if lens is not None:
            self.given["sequence_lens"] = np.array(lens, np.int32)

    def _draw(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape).astype(np.float32)

    def run(self, **options: Any) -> list[np.ndarray]:
        operands = (self.x, self.w, self.r)
        return outputs("recurrent", *operands, self.mode, self.size, direction=self.direction, **self.given, **options)

    def expected(self, functions: list[tuple[str, float, float]], **options: Any) -> list[np.ndarray]:
        """Y, Y_h and Y_c; ``functions`` are those of every direction."""
        steps, batch, _ = self.x.shape
        directions = len(self.w)
        every = np.zeros((steps, directions, batch, self.size))
        last = np.zeros((2, directions, batch, self.size))
        lens = self.given.get("sequence_lens", [steps] * batch)
        for d in range(directions):
            for b in range(batch):
                h, c = (
                    self.given[k][d, b].astype(float).tolist() if k in self.given else [0.0] * self.size
                    for k in ("initial_h", "initial_c")
                )
                order = list(range(int(lens[b])))
                for t in order[::-1] if self.direction == "reverse" or d else order:
                    h, c = self._step(d, self.x[t, b], h, c, functions, options)
                    every[t, d, b] = h
                if order:
                    last[:, d, b] = h, c
        return [every, *last][: 3 if self.mode == "lstm" else 2]

    def _step(self, d: int, x: Any, h: list, c: list, functions: list, options: dict) -> tuple[list, list]:
        size, width, clip = self.size, self.w.shape[1], options.get("clip") or math.inf
        bias = self.given["bias"][d] if "bias" in self.given else np.zeros(2 * width)
        peep = self.given["peephole"][d].reshape(3, size) if "peephole" in self.given else np.zeros((3, size))

        def given(q: int) -> float:
            return float(bias[q]) + sum(float(self.w[d, q, k]) * float(v) for k, v in enumerate(x))

        def own(q: int, state: list) -> float:
            return float(bias[width + q]) + sum(float(self.r[d, q, k]) * v for k, v in enumerate(state))

        def apply(i: int, value: float) -> float:
            name, alpha, beta = functions[i]
            return float(FUNCTIONS[name](min(max(value, -clip), clip), alpha, beta))

        features = range(size)
        if self.mode == "rnn":
            return [apply(0, given(j) + own(j, h)) for j in features], c
        if self.mode == "gru":
            z = [apply(0, given(j) + own(j, h)) for j in features]
            r = [apply(0, given(size + j) + own(size + j, h)) for j in features]
            kept = [r[k] * h[k] for k in features]
            if options.get("linear_before_reset"):
                n = [apply(1, given(2 * size + j) + r[j] * own(2 * size + j, h)) for j in features]
            else:
                n = [apply(1, given(2 * size + j) + own(2 * size + j, kept)) for j in features]
            return [(1 - z[j]) * n[j] + z[j] * h[j] for j in features], c
        new_h, new_c = [], []
        for j in features:
            i, o, f, g = (given(q * size + j) + own(q * size + j, h) for q in range(4))
            i = apply(0, i + peep[0, j] * c[j])
            f = 1 - i if options.get("input_forget") else apply(0, f + peep[2, j] * c[j])
            new_c.append(f * c[j] + i * apply(1, g))
            name, alpha, beta = functions[2]
            seen = c[j] if options.get("peephole_previous") else new_c[j]
            new_h.append(apply(0, o + peep[1, j] * seen) * FUNCTIONS[name](new_c[j], alpha, beta))
        return new_h, new_c


USUAL = {
    "rnn": [("tanh", 0.0, 0.0)],
    "gru": [("sigmoid", 0.0, 0.0), ("tanh", 0.0, 0.0)],
    "lstm": [("sigmoid", 0.0, 0.0), ("tanh", 0.0, 0.0), ("tanh", 0.0, 0.0)],
}


def check(case: Case, functions: list[tuple[str, float, float]] | None = None, **options: Any) -> None:
    if functions is not None:
        names, alphas, betas = (list(v) * len(case.w) for v in zip(*functions))
        options |= {"activations": names, "activation_alpha": alphas, "activation_beta": betas}
    for got, wanted in zip(case.run(**options), case.expected(functions or USUAL[case.mode], **options), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lens", [None, [4, 0, 2]])
@pytest.mark.parametrize("full", [False, True])
def test_every_form(mode: str, direction: str, lens: list[int] | None, full: bool) -> None:
    check(Case(mode, direction, full=full, lens=lens))


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("rnn", {"clip": 0.3}), ("gru", {"clip": 0.3}), ("gru", {"linear_before_reset": True}),
        ("lstm", {"peephole_previous": True}),
        ("gru", {"linear_before_reset": True, "clip": 0.5}), ("lstm", {"clip": 0.3}), ("lstm", {"input_forget": True}),
    ],
)  # fmt: skip
def test_options(mode: str, options: dict[str, Any]) -> None:
    check(Case(mode, "bidirectional", full=True, lens=[3, 4, 1]), **options)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations(name: str) -> None:
    check(Case("rnn", "forward", full=True, lens=None), [(name, 0.7, 0.4)])
    check(Case("gru", "reverse", full=True, lens=None), [("hard_sigmoid", 0.3, 0.4), (name, 0.5, 0.9)])


def test_alpha_and_beta_have_defaults() -> None:
    case = Case("rnn", "forward", full=True, lens=None)
    for name, alpha, beta in (("leaky_relu", 0.01, 0.0), ("hard_sigmoid", 0.2, 0.5), ("elu", 1.0, 0.0)):
        for got, wanted in zip(case.run(activations=[name]), case.expected([(name, alpha, beta)])):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


X, W, R = "float32[5, b, 2]", "float32[1, 9, 2]", "float32[1, 9, 3]"


def test_shapes() -> None:
    assert infer("recurrent", X, W, R, positional=("gru", 3)) == ["float32[5, 1, b, 3]", "float32[1, b, 3]"]
    types = ("float32[s, b, 2]", "float32[2, 12, 2]", "float32[2, 12, 3]")
    got = infer("recurrent", *types, positional=("lstm", 3), direction="bidirectional")
    assert got == ["float32[s, 2, b, 3]", "float32[2, b, 3]", "float32[2, b, 3]"]


@pytest.mark.parametrize(
    ("types", "options", "message"),
    [
        ((X, W, "float32[1, 9, 4]"), {}, "recurrent_weight has shape"),
        ((X, W, R, "float32[1, 9]"), {}, "bias has shape"),
        ((X, W, R, None, None, None, "float32[1, b, 3]"), {}, "initial_c is given, but mode is gru"),
        ((X, W, R), {"activations": ["tanh"]}, "activations names 1 functions, expected 2"),
        ((X, W, R), {"activation_alpha": [0.1]}, "activation_alpha has 1 numbers"),
        ((X, W, R), {"clip": -1.0}, "clip is -1.0"),
        ((X, W, R), {"activations": ["tanh", "gelu"]}, "expected one of relu, tanh"),
    ],
)
def test_what_is_refused(types: tuple[str | None, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        infer("recurrent", *types, positional=("gru", 3), **options)
