"""Recurrent cells as sequences of one step."""

from __future__ import annotations

from ..ir import Value
from .canonicalise_normalisations import operands
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import rewrite

_KEPT = ("hidden_size", "layout", "activations")


def _lead(e: Emitter, v: Value | None) -> Value | None:
    """The value as the only one of a sequence or of the directions."""
    return None if v is None else e.reshape(v, (1, *v.shape))


@rewrite(op("gru_cell", name="cell"))
def gru_cell(m: Match, e: Emitter) -> Value:
    """A sequence of one step, forward, from a given state is the cell."""
    given, attrs = operands(m.root), m.root.attrs
    names = ("input", "weight", "recurrent_weight", "bias", "recurrent_bias", "hidden_state")
    kept = {name: attrs[name] for name in (*_KEPT, "reset_after")}
    (last,) = e.emit_all("gru", *(_lead(e, getattr(given, name)) for name in names), steps=1, **kept)
    return e.reshape(last, m.output.shape)


@rewrite(op("lstm_cell", name="cell"))
def lstm_cell(m: Match, e: Emitter) -> tuple[Value, ...]:
    """A sequence of one step, forward, from given states is the cell."""
    given, attrs = operands(m.root), m.root.attrs
    names = ("input", "weight", "recurrent_weight", "bias", "recurrent_bias", "peephole_weight")
    states = ("hidden_state", "cell_state")
    kept = {name: attrs[name] for name in _KEPT}
    last = e.emit_all("lstm", *(_lead(e, getattr(given, name)) for name in names + states), steps=1, **kept)
    return tuple(e.reshape(v, old.shape) for v, old in zip(last, m.root.outputs))


REWRITES = (gru_cell, lstm_cell)
