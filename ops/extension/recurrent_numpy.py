"""Recurrent networks in NumPy, step by step, in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import special
from ..rounding import widen
from ..schema import Arrays, Attrs

Function = Callable[[np.ndarray], np.ndarray]
_FUNCTIONS: Mapping[str, Callable[[np.ndarray, float, float], np.ndarray]] = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: special.sigmoid(x),
    "affine": lambda x, a, b: a * x + b,
    "leaky_relu": lambda x, a, b: np.where(x < 0, a * x, x),
    "thresholded_relu": lambda x, a, b: np.where(x > a, x, 0),
    "scaled_tanh": lambda x, a, b: a * np.tanh(b * x),
    "hard_sigmoid": lambda x, a, b: np.minimum(np.maximum(a * x + b, 0), 1),
    "elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "softplus": lambda x, a, b: special.softplus(x),
}


@dataclass(frozen=True)
class _Direction:
    """The operands of one direction, in float64, and its activations."""

    weight: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    recurrent_bias: np.ndarray
    peephole: np.ndarray
    functions: Sequence[Function]
    attrs: Attrs

    def rnn(self, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (total,) = self._sums(x, h, 1)
        return self._gate(0, total), c

    def gru(self, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        given = np.split(x @ self.weight.T + self.bias, 3, -1)
        weights, bias = np.split(self.recurrent, 3), np.split(self.recurrent_bias, 3)
        z, r = (self._gate(0, given[i] + h @ weights[i].T + bias[i]) for i in (0, 1))
        if self.attrs["linear_before_reset"]:
            n = self._gate(1, given[2] + r * (h @ weights[2].T + bias[2]))
        else:
            n = self._gate(1, given[2] + (r * h) @ weights[2].T + bias[2])
        return (1 - z) * n + z * h, c

    def lstm(self, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        i, o, f, g = self._sums(x, h, 4)
        for_i, for_o, for_f = np.split(self.peephole, 3)
        i = self._gate(0, i + for_i * c)
        f = 1 - i if self.attrs["input_forget"] else self._gate(0, f + for_f * c)
        new = f * c + i * self._gate(1, g)
        o = self._gate(0, o + for_o * (c if self.attrs["peephole_previous"] else new))
        return o * self.functions[2](new), new

    def _sums(self, x: np.ndarray, h: np.ndarray, gates: int) -> list[np.ndarray]:
        return np.split(x @ self.weight.T + h @ self.recurrent.T + self.bias + self.recurrent_bias, gates, -1)

    def _gate(self, function: int, total: np.ndarray) -> np.ndarray:
        clip = self.attrs["clip"]
        # Bounded so that NaN stays NaN.
        bounded = total if clip is None else np.clip(total, -clip, clip)
        return self.functions[function](bounded)


def run(x: Arrays, a: Attrs) -> list[np.ndarray]:
    """Y, Y_h and Y_c, in float64."""
    source = widen(x.input)
    steps, batch, _ = source.shape
    directions, hidden = x.weight.shape[0], a["hidden_size"]
    lengths = np.full(batch, steps) if x.sequence_lens is None else np.clip(np.asarray(x.sequence_lens), 0, steps)
    every = np.zeros((steps, directions, batch, hidden))
    states = [
        np.zeros((directions, batch, hidden)) if v is None else widen(v).copy() for v in (x.initial_h, x.initial_c)
    ]
    for state in states:
        state[:, lengths == 0] = 0
    with np.errstate(all="ignore"):
        for d in range(directions):
            cell = getattr(_direction(x, a, d), a["mode"])
            reverse = a["direction"] == "reverse" or d == 1
            for s in range(int(lengths.max(initial=0))):
                rows = np.flatnonzero(s < lengths)
                t = lengths[rows] - 1 - s if reverse else np.full(rows.shape, s)
                h, c = cell(source[t, rows], states[0][d, rows], states[1][d, rows])
                states[0][d, rows], states[1][d, rows] = h, c
                every[t, d, rows] = h
    return [every, *states]


def _direction(x: Arrays, a: Attrs, d: int) -> _Direction:
    width, hidden = x.weight.shape[1], a["hidden_size"]
    bias = np.zeros(2 * width) if x.bias is None else widen(x.bias)[d]
    peephole = np.zeros(3 * hidden) if x.peephole is None else widen(x.peephole)[d]
    return _Direction(
        widen(x.weight)[d], widen(x.recurrent_weight)[d], bias[:width], bias[width:], peephole, _functions(a, d), a
    )


def _functions(a: Attrs, d: int) -> list[Function]:
    names, alphas, betas = a["activations"], a["activation_alpha"], a["activation_beta"]
    count = {"rnn": 1, "gru": 2, "lstm": 3}[a["mode"]]

    def bound(i: int) -> Function:
        return lambda v: _FUNCTIONS[names[i]](v, alphas[i], betas[i])

    return [bound(i) for i in range(d * count, (d + 1) * count)]
