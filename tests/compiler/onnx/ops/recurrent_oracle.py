"""RNN, GRU and LSTM in float64, one entry of the batch after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["FUNCTIONS", "Function", "recurrent"]

Function = Callable[[np.ndarray], np.ndarray]
FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Softplus": lambda x: np.log1p(np.exp(x)),
    "LeakyRelu": lambda x, alpha=0.01: np.where(x >= 0, x, alpha * x),
    "ThresholdedRelu": lambda x, alpha=1.0: np.where(x > alpha, x, 0),
    "Elu": lambda x, alpha=1.0: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "Affine": lambda x, alpha=1.0, beta=0.0: alpha * x + beta,
    "ScaledTanh": lambda x, alpha=1.0, beta=1.0: alpha * np.tanh(beta * x),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: np.clip(alpha * x + beta, 0, 1),
}
"""By ONNX's names, with their parameters' defaults."""
States = tuple[np.ndarray, np.ndarray]


def _rnn(w: dict[str, Any], x: np.ndarray, states: States) -> States:
    h, c = states
    return w["functions"][0](w["clip"](w["w"] @ x + w["wb"] + w["r"] @ h + w["rb"])), c


def _gru(w: dict[str, Any], x: np.ndarray, states: States) -> States:
    h, c = states
    f, g = w["functions"]
    (wz, wr, wh), (rz, rr, rh) = np.split(w["w"] @ x + w["wb"], 3), np.split(w["r"], 3)
    bz, br, bh = np.split(w["rb"], 3)
    z, r = f(w["clip"](wz + rz @ h + bz)), f(w["clip"](wr + rr @ h + br))
    inner = r * (rh @ h + bh) if w.get("linear_before_reset") else rh @ (r * h) + bh
    return (1 - z) * g(w["clip"](wh + inner)) + z * h, c


def _lstm(w: dict[str, Any], x: np.ndarray, states: States) -> States:
    h, c = states
    f, g, last = w["functions"]
    i, o, forget, cell = np.split(w["w"] @ x + w["wb"] + w["r"] @ h + w["rb"], 4)
    pi, po, pf = np.split(w["p"], 3)
    entering = f(w["clip"](i + pi * c))
    kept = 1 - entering if w.get("input_forget") else f(w["clip"](forget + pf * c))
    c = kept * c + entering * g(w["clip"](cell))
    return f(w["clip"](o + po * c)) * last(c), c


_STEPS = {"RNN": (_rnn, 1), "GRU": (_gru, 3), "LSTM": (_lstm, 4)}


def recurrent(
    op: str, inputs: Sequence[np.ndarray | None], functions: Sequence[Sequence[Function]], **options: Any
) -> list[np.ndarray]:
    """Y, Y_h and (of an LSTM) Y_c, by inputs in the operator's order and the functions of each direction.

    ``options`` are direction, clip, layout, linear_before_reset and input_forget.
    """
    step, gates = _STEPS[op]
    x, w, r, b, lengths, h0, c0, p = (None if v is None else v.astype(np.float64) for v in _filled(inputs))
    by_batch, clip = options.get("layout", 0), options.get("clip")
    if by_batch:
        x, h0, c0 = (None if v is None else v.swapaxes(0, 1) for v in (x, h0, c0))
    assert x is not None and w is not None and r is not None
    steps, batch, _ = x.shape
    directions, hidden = w.shape[0], r.shape[2]
    every = np.zeros((steps, directions, batch, hidden))
    last = np.zeros((2, directions, batch, hidden))
    for d in range(directions):
        both = np.zeros((2, gates * hidden)) if b is None else b[d].reshape(2, -1)
        cell = {"w": w[d], "r": r[d], "wb": both[0], "rb": both[1], "p": np.zeros(3 * hidden) if p is None else p[d]}
        cell.update(options, functions=functions[d], clip=lambda v: v if clip is None else np.clip(v, -clip, clip))  # type: ignore[call-overload]
        for n in range(batch):
            length = steps if lengths is None else int(lengths[n])
            states: States = tuple(np.zeros(hidden) if s is None or not length else s[d, n] for s in (h0, c0))  # type: ignore[assignment]
            backward = options.get("direction") == "reverse" or d == 1
            for t in reversed(range(length)) if backward else range(length):
                states = step(cell, x[t, n], states)
                every[t, d, n] = states[0]
            last[:, d, n] = states
    results = [every, last[0], last[1]][: 3 if op == "LSTM" else 2]
    if by_batch:
        return [results[0].transpose(2, 0, 1, 3), *[s.swapaxes(0, 1) for s in results[1:]]]
    return results


def _filled(inputs: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
    return [*inputs, *[None] * (8 - len(inputs))]
