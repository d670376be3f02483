"""The activation functions of recurrent operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["FUNCTIONS", "GATES", "Activation", "activations_of"]

Function = Callable[[np.ndarray], np.ndarray]

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
"""How many gates an operator's weights hold."""
_DEFAULTS = {"RNN": ("tanh",), "GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh")}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


FUNCTIONS: dict[str, tuple[Callable[..., np.ndarray], tuple[float, ...]]] = {
    "relu": (lambda x: np.maximum(x, 0), ()),
    "tanh": (np.tanh, ()),
    "sigmoid": (_sigmoid, ()),
    "softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "softplus": (lambda x: np.logaddexp(x, x.dtype.type(0)), ()),
    "leakyrelu": (lambda x, alpha: np.where(x >= 0, x, alpha * x), (0.01,)),
    "thresholdedrelu": (lambda x, alpha: np.where(x >= alpha, x, 0), (1.0,)),
    "elu": (lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))), (1.0,)),
    "affine": (lambda x, alpha, beta: alpha * x + beta, (1.0, 0.0)),
    "scaledtanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), (0.2, 0.5)),
}
"""Functions by lower-case name, and their parameters' defaults: alpha, or alpha and beta."""


@dataclass(frozen=True)
class Activation:
    """A function's lower-case name and the values of its parameters."""

    name: str
    parameters: tuple[float, ...] = ()

    def function(self, clip: float | None) -> Function:
        """The function itself, its input limited to ``-clip`` to ``clip``."""
        compute = FUNCTIONS[self.name][0]
        if clip is None:
            return lambda x: np.asarray(compute(x, *self.parameters)).astype(x.dtype)
        return lambda x: np.asarray(compute(np.clip(x, -clip, clip), *self.parameters)).astype(x.dtype)


def activations_of(
    op: str, names: Sequence[str] | None, alphas: Sequence[float], betas: Sequence[float], directions: int
) -> list[tuple[Activation, ...]]:
    """The functions of each direction.

    Raises:
        ValueError: for an unknown function, or a wrong number of them.
    """
    count = len(_DEFAULTS[op])
    listed = list(names or _DEFAULTS[op] * directions)
    if op == "RNN" and directions == 1 and len(listed) == 2 * count:
        # The schema's default lists the functions of two directions.
        listed = listed[:count]
    if len(listed) != count * directions:
        raise ValueError(f"activations has {len(listed)} functions, expected {count * directions}")
    first, second = iter(alphas), iter(betas)
    found = [_activation(name.lower(), first, second) for name in listed]
    return [tuple(found[d * count : (d + 1) * count]) for d in range(directions)]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    if name not in FUNCTIONS:
        raise ValueError(f"activations has {name!r}, expected one of {', '.join(FUNCTIONS)}")
    sources = zip((alphas, betas), FUNCTIONS[name][1])
    return Activation(name, tuple(next(values, default) for values, default in sources))
