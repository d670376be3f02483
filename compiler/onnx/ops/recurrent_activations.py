"""The activation functions of recurrent operators, from their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Activation", "activations_of"]

_USUAL = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
_FUNCTIONS: dict[str, tuple[str, tuple[float, ...]]] = {
    "relu": ("relu", ()),
    "tanh": ("tanh", ()),
    "sigmoid": ("sigmoid", ()),
    "softsign": ("softsign", ()),
    "softplus": ("softplus", ()),
    "leakyrelu": ("leaky_relu", (0.01,)),
    "thresholdedrelu": ("thresholded_relu", (1.0,)),
    "elu": ("elu", (1.0,)),
    "affine": ("affine", (1.0, 0.0)),
    "scaledtanh": ("scaled_tanh", (1.0, 1.0)),
    "hardsigmoid": ("hard_sigmoid", (0.2, 0.5)),
}
"""The core's names, and the parameters' defaults: none, alpha, or alpha and beta."""


class Activation(NamedTuple):
    """A function by the core's name, and its parameters (0 for one that it lacks)."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0


def activations_of(
    op: str, names: Sequence[str] | None, alphas: Sequence[float], betas: Sequence[float], directions: int
) -> list[Activation]:
    """The functions of one direction after another.

    A parameter goes to the next function that takes one, as in ONNX Runtime; case does not matter in names.

    Raises:
        ValueError: for an unknown function, or a wrong number of them.
    """
    usual = _USUAL[op]
    listed = list(names or usual * directions)
    if op == "RNN" and directions == 1 and len(listed) == 2:
        # The schema's default lists the functions of two directions.
        listed = listed[:1]
    if len(listed) != len(usual) * directions:
        raise ValueError(f"activations has {len(listed)} functions, expected {len(usual) * directions}")
    first, second = iter(alphas), iter(betas)
    return [_activation(name, first, second) for name in listed]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    found = _FUNCTIONS.get(name.lower())
    if found is None:
        raise ValueError(f"activations has {name!r}, expected one of {', '.join(_FUNCTIONS)}")
    core_name, defaults = found
    return Activation(core_name, *[next(values, default) for values, default in zip((alphas, betas), defaults)])
