"""RNN, GRU and LSTM with all their options, step by step.

Where the standard is silent this follows ONNX Runtime: values of ``activation_alpha`` and ``activation_beta`` go to
those functions that take one, in order; places behind a sequence's end hold 0, and so do the last states of a sequence
of length 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from basalt.compiler.onnx.host.checks import tensor
from basalt.compiler.onnx.host.recurrent_activations import GATES, Function, activations_of
from basalt.compiler.onnx.host.registry import HostNode, host_op

States = tuple[np.ndarray, ...]
"""The hidden state, and for LSTM the cell state, [batch, hidden] each."""


@dataclass(frozen=True)
class _Cell:
    """One direction's weights, [gates * hidden, ...], and functions."""

    weight: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    recurrent_bias: np.ndarray
    peephole: np.ndarray
    functions: tuple[Function, ...]
    options: HostNode

    def gates(self, x: np.ndarray) -> list[np.ndarray]:
        """The parts of all gates along the last axis."""
        return np.split(x, GATES[self.options.op_type], axis=-1)


def _rnn_step(cell: _Cell, projected: np.ndarray, states: States) -> States:
    (hidden,) = states
    return (cell.functions[0](projected + hidden @ cell.recurrent.T + cell.recurrent_bias),)


def _gru_step(cell: _Cell, projected: np.ndarray, states: States) -> States:
    (hidden,) = states
    gate, new = cell.functions
    (xz, xr, xh), (rz, rr, rh) = cell.gates(projected), np.split(cell.recurrent, 3)
    bz, br, bh = cell.gates(cell.recurrent_bias)
    z, r = gate(xz + hidden @ rz.T + bz), gate(xr + hidden @ rr.T + br)
    if cell.options.attr("linear_before_reset", 0):
        candidate = new(xh + r * (hidden @ rh.T + bh))
    else:
        candidate = new(xh + (r * hidden) @ rh.T + bh)
    return ((1 - z) * candidate + z * hidden,)


def _lstm_step(cell: _Cell, projected: np.ndarray, states: States) -> States:
    hidden, memory = states
    gate, candidate, output = cell.functions
    i, o, f, c = cell.gates(projected + hidden @ cell.recurrent.T + cell.recurrent_bias)
    pi, po, pf = np.split(cell.peephole, 3)
    entered = gate(i + pi * memory)
    kept = 1 - entered if cell.options.attr("input_forget", 0) else gate(f + pf * memory)
    memory = kept * memory + entered * candidate(c)
    return gate(o + po * memory) * output(memory), memory


_STEPS = {"RNN": _rnn_step, "GRU": _gru_step, "LSTM": _lstm_step}


def _run(cell: _Cell, x: np.ndarray, lengths: np.ndarray, states: States, backward: bool) -> tuple[np.ndarray, States]:
    """Every hidden state [steps, batch, hidden], and the last states.

    Backward, each sequence begins at its own end.
    """
    steps = x.shape[0]
    step = _STEPS[cell.options.op_type]
    every = np.zeros((steps, *states[0].shape), x.dtype)
    states = tuple(np.where((lengths > 0)[:, None], s, 0).astype(x.dtype) for s in states)
    projected = x @ cell.weight.T + cell.bias
    for t in reversed(range(steps)) if backward else range(steps):
        active = (t < lengths)[:, None]
        after = step(cell, projected[t], states)
        states = tuple(np.where(active, new, old) for new, old in zip(after, states))
        every[t] = np.where(active, states[0], 0)
    return every, states


@host_op("RNN", 1, 7, 14, 22)
@host_op("GRU", 1, 3, 7, 14, 22)
@host_op("LSTM", 1, 7, 14, 22)
def recurrent(
    n: HostNode,
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    b: np.ndarray | None = None,
    sequence_lens: np.ndarray | None = None,
    initial_h: np.ndarray | None = None,
    initial_c: np.ndarray | None = None,
    p: np.ndarray | None = None,
) -> tuple[np.ndarray, ...]:
    """All hidden states, and the last states; 16-bit floats are computed in float32."""
    dtype = tensor(n, "X", x, (3,)).dtype
    work = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    by_batch = bool(n.attr("layout", 0))
    x = (x.swapaxes(0, 1) if by_batch else x).astype(work)
    steps, batch = x.shape[:2]
    cells = _cells(n, x, w, r, b, p)
    hidden = cells[0].recurrent.shape[1]
    lengths = _lengths(n, sequence_lens, steps, batch)
    initial = [
        _state(n, name, state, (len(cells), batch, hidden), by_batch, work)
        for name, state in (("initial_h", initial_h), ("initial_c", initial_c))[: 2 if n.op_type == "LSTM" else 1]
    ]
    backward = n.attr("direction", "forward") == "reverse"
    with np.errstate(all="ignore"):
        runs = [
            _run(cell, x, lengths, tuple(s[d] for s in initial), backward or d == 1) for d, cell in enumerate(cells)
        ]
    every = np.stack([y for y, _ in runs], axis=1)
    last = [np.stack(parts, axis=0) for parts in zip(*[states for _, states in runs])]
    if by_batch:
        every, last = every.transpose(2, 0, 1, 3), [s.swapaxes(0, 1) for s in last]
    return tuple(np.ascontiguousarray(a).astype(dtype) for a in (every, *last))


def _cells(
    n: HostNode, x: np.ndarray, w: np.ndarray, r: np.ndarray, b: np.ndarray | None, p: np.ndarray | None
) -> list[_Cell]:
    """The cell of each direction."""
    directions = 2 if n.attr("direction", "forward") == "bidirectional" else 1
    hidden = tensor(n, "R", r, (3,)).shape[2]
    if n.attr("hidden_size", hidden) != hidden:
        raise n.error(f"attribute hidden_size is {n.attr('hidden_size')}, but input 'R' has shape {r.shape}")
    rows = GATES[n.op_type] * hidden
    weight = _expected(n, "W", w, (directions, rows, x.shape[2])).astype(x.dtype)
    recurrent = _expected(n, "R", r, (directions, rows, hidden)).astype(x.dtype)
    bias = np.zeros((directions, 2 * rows), x.dtype) if b is None else _expected(n, "B", b, (directions, 2 * rows))
    peephole = (
        np.zeros((directions, 3 * hidden), x.dtype) if p is None else _expected(n, "P", p, (directions, 3 * hidden))
    )
    try:
        alphas, betas = n.attr("activation_alpha", ()), n.attr("activation_beta", ())
        chosen = activations_of(n.op_type, n.attr("activations"), alphas, betas, directions)
    except ValueError as error:
        raise n.error(f"attribute {error}") from None
    clip = n.attr("clip")
    return [
        _Cell(
            weight[d],
            recurrent[d],
            bias[d, :rows].astype(x.dtype),
            bias[d, rows:].astype(x.dtype),
            peephole[d].astype(x.dtype),
            tuple(a.function(clip) for a in chosen[d]),
            n,
        )
        for d in range(directions)
    ]


def _expected(n: HostNode, name: str, value: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    if tensor(n, name, value).shape != tuple(shape):
        raise n.error(f"input {name!r} has shape {value.shape}, expected {tuple(shape)}")
    return value


def _lengths(n: HostNode, given: np.ndarray | None, steps: int, batch: int) -> np.ndarray:
    """The length of each sequence."""
    if given is None:
        return np.full(batch, steps)
    lengths = _expected(n, "sequence_lens", given, (batch,))
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= steps:
        raise n.error(f"input 'sequence_lens' holds {lengths.min()} to {lengths.max()}, expected 0 to {steps}")
    return lengths


def _state(
    n: HostNode, name: str, given: np.ndarray | None, shape: tuple[int, int, int], by_batch: bool, work: np.dtype
) -> np.ndarray:
    """An initial state, [directions, batch, hidden]."""
    if given is None:
        return np.zeros(shape, work)
    directions, batch, hidden = shape
    checked = _expected(n, name, given, (batch, directions, hidden) if by_batch else shape)
    return (checked.swapaxes(0, 1) if by_batch else checked).astype(work)
