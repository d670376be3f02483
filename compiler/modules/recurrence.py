"""LSTM, GRU and RNN as one operator each while torch exports: its own unroll them for the example's number of steps."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

__all__ = ["MODES", "recurrent_operators"]

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_LOCK = threading.RLock()


@contextlib.contextmanager
def recurrent_operators() -> Iterator[None]:
    """Let ``torch.nn.LSTM``, ``GRU`` and ``RNN`` call the operators ``basalt::lstm`` and so on."""
    from torch import _VF

    with _LOCK:
        own = {mode: getattr(_VF, mode) for mode in MODES}
        for mode in MODES:
            setattr(_VF, mode, _replacement(mode, own[mode]))
        try:
            yield
        finally:
            for mode, function in own.items():
                setattr(_VF, mode, function)


def _replacement(mode: str, own: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        if not isinstance(args[3], bool):  # a packed sequence has its batch sizes in between
            return own(*args)
        x, state, weights = args[:3]
        states = list(state) if isinstance(state, (list, tuple)) else [state]
        biases, layers, _, _, bidirectional, batch_first = args[3:9]
        results = _operator(mode)(x, states, list(weights), biases, layers, bidirectional, batch_first)
        return results if mode == "lstm" else results[:2]

    return call


@cache
def _operator(mode: str) -> Any:
    """The operator of a mode: input, states, weights, has_biases, layers, bidirectional, batch_first."""
    import torch

    def run(
        x: torch.Tensor,
        states: list[torch.Tensor],
        weights: list[torch.Tensor],
        biases: bool,
        layers: int,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        own = getattr(torch, mode)
        state = states if mode == "lstm" else states[0]
        results = own(x, state, weights, biases, layers, 0.0, False, bidirectional, batch_first)
        return results if mode == "lstm" else (*results, x.new_empty(0))

    def shapes(
        x: torch.Tensor,
        states: list[torch.Tensor],
        weights: list[torch.Tensor],
        biases: bool,
        layers: int,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        features = states[0].shape[-1] * (2 if bidirectional else 1)
        last = torch.empty_like(states[1]) if mode == "lstm" else x.new_empty(0)
        return x.new_empty((*x.shape[:-1], features)), torch.empty_like(states[0]), last

    # Annotations are texts here, which torch reads in this module's own scope; it knows no torch.
    for function in (run, shapes):
        function.__annotations__ = {
            "x": torch.Tensor,
            "states": list[torch.Tensor],
            "weights": list[torch.Tensor],
            "biases": bool,
            "layers": int,
            "bidirectional": bool,
            "batch_first": bool,
            "return": tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        }
    operator = torch.library.custom_op(f"basalt::{mode}", run, mutates_args=())
    operator.register_fake(shapes)
    return operator
