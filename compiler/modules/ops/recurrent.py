"""LSTM, GRU and RNN: layers one after the other, each ONNX's operator, whose gates have another order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from basalt.ops.dims import product

from ...onnx.tensor import Tensor, onnx_dtype
from ..context import AtenContext
from ..recurrence import MODES
from ..registry import aten

_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}
"""Torch's gates (input, forget, cell, output; reset, update, new) in ONNX's order (iofc; zrh)."""


def _recurrent(
    n: AtenContext,
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    biases: bool,
    layers: int,
    bidirectional: bool,
    batch_first: bool,
    *,
    mode: str,
) -> tuple[Tensor | None, ...]:
    single = x.rank == 2
    if single:
        x = n.reshape(x, (x.shape[0], 1, x.shape[1]))
        states = [n.reshape(s, (s.shape[0], 1, s.shape[1])) for s in states]
    elif batch_first:
        x = n.transpose(x, (1, 0, 2))
    directions = 2 if bidirectional else 1
    projected = mode == "lstm" and states[0].shape[-1] != states[1].shape[-1]
    each = ((4 if biases else 2) + projected) * directions
    last: list[list[Tensor]] = [[] for _ in states]
    for layer in range(layers):
        own = [n.slice(s, 0, layer * directions, directions) for s in states]
        x, *ends = _layer(n, x, own, weights[layer * each :][:each], biases, directions, mode)
        for kept, end in zip(last, ends):
            kept.append(end)
    ends = [_joined(n, kept) for kept in last]
    if single:
        x, ends = n.reshape(x, (x.shape[0], x.shape[2])), [n.reshape(e, (e.shape[0], e.shape[2])) for e in ends]
    elif batch_first:
        x = n.transpose(x, (1, 0, 2))
    return (x, *ends, *[None] * (2 - len(ends)))


def _layer(
    n: AtenContext,
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Tensor],
    biases: bool,
    directions: int,
    mode: str,
) -> tuple[Tensor, ...]:
    each = len(weights) // directions
    if each % 2:
        own = [weights[d * each :][:each] for d in range(directions)]
        return _projected_layer(n, x, states, own, biases, mode)
    parts = [[_gates(n, w, mode) for w in weights[d * each :][:each]] for d in range(directions)]
    weight, recurrent = (_stacked(n, [p[i] for p in parts]) for i in range(2))
    bias = None
    if biases:
        bias = _stacked(n, [n.emit("concat", p[2], p[3], axis=0) for p in parts])
    attributes: dict[str, Any] = {
        "hidden_size": n.static(states[-1].shape[-1])[0],
        "direction": "bidirectional" if directions == 2 else "forward",
    }
    if mode == "gru":
        attributes["linear_before_reset"] = 1
    if mode == "rnn_relu":
        attributes["activations"] = ("Relu",) * directions
    op = {"lstm": "LSTM", "gru": "GRU"}.get(mode, "RNN")
    every, *ends = n.call(op, x, weight, recurrent, bias, None, *states, outputs=1 + len(states), **attributes)
    steps, _, batch, hidden = every.shape
    if directions == 2:
        every = n.transpose(every, (0, 2, 1, 3))
    return (n.reshape(every, (steps, batch, product((directions, hidden)))), *ends)


def _projected_layer(
    n: AtenContext, x: Tensor, states: Sequence[Tensor], weights: Sequence[Sequence[Tensor]], biases: bool, mode: str
) -> tuple[Tensor, ...]:
    """A layer whose states are projected, by one whose are not: the projection is moved into the recurrent weights.

    The first state is what the projection takes to the one that is given, by its pseudoinverse.
    """
    projections = [_known(n, own[-1]).astype(np.float64) for own in weights]
    plain: list[Tensor] = []
    for own, projection in zip(weights, projections):
        recurrent = _known(n, own[1])
        moved = n.constant((recurrent.astype(np.float64) @ projection).astype(recurrent.dtype))
        plain += [own[0], moved, *own[2:-1]]
    dtype = onnx_dtype(x.dtype)
    back = np.stack([np.linalg.pinv(p).T for p in projections]).astype(dtype)
    forth = np.stack([p.T for p in projections]).astype(dtype)
    before = n.emit("matmul", states[0], n.constant(back))
    every, last, cells = _layer(n, x, [before, states[1]], plain, biases, len(weights), mode)
    steps, batch, _ = every.shape
    hidden = forth.shape[1]
    # [steps, batch, directions, 1, hidden] by [directions, hidden, projected]
    rows = n.reshape(every, (steps, batch, len(weights), 1, hidden))
    every = n.reshape(n.emit("matmul", rows, n.constant(forth)), (steps, batch, len(weights) * forth.shape[2]))
    return every, n.emit("matmul", last, n.constant(forth)), cells


def _known(n: AtenContext, weight: Tensor) -> np.ndarray:
    return n.need(weight) if weight.array is None else weight.array


def _gates(n: AtenContext, weight: Tensor, mode: str) -> Tensor:
    """A weight or bias with its gates in ONNX's order."""
    order = _GATES.get(mode)
    if order is None:
        return weight
    if weight.array is not None:
        parts = np.split(weight.array, len(order))
        return n.constant(np.concatenate([parts[i] for i in order]))
    pieces = n.emit_all("split", weight, splits=len(order), axis=0)
    return n.emit("concat", *[pieces[i] for i in order], axis=0)


def _stacked(n: AtenContext, tensors: Sequence[Tensor]) -> Tensor:
    return _joined(n, [n.reshape(t, (1, *t.shape)) for t in tensors])


def _joined(n: AtenContext, tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else n.emit("concat", *tensors, axis=0)


for _mode in MODES:
    aten(f"basalt::{_mode}.default")(partial(_recurrent, mode=_mode))
