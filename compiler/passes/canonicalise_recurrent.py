"""The standard's recurrent networks and cells as ``recurrent``, which has one order of gates and one kind of bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from basalt.ops import numpy_dtype

from ..ir import Value
from .canonicalise_normalisations import operands
from .emitter import Emitter
from .patterns import Match, op
from .rewriting import rewrite

_ORDERS = {"gru": "zrn", "lstm": "iofg"}
_DIRECTIONS = {"forward": "forward", "backward": "reverse", "both": "bidirectional"}


class _Network:
    """Emits a node for one of the standard's; a cell is a sequence of one step in one direction."""

    def __init__(self, m: Match, e: Emitter, mode: str) -> None:
        self.e, self.mode, self.given, self.attrs = e, mode, operands(m.root), m.root.attrs
        self.cell = m.root.op.endswith("_cell")
        self.hidden: int = self.attrs["hidden_size"]

    def emit(self, states: Sequence[str], **options: Any) -> tuple[Value, ...]:
        """Every hidden state, then the last states."""
        named = states if self.cell else [f"initial_{name}" for name in states]
        initial = [self._led(getattr(self.given, name)) for name in named]
        initial += [None] * (2 - len(initial))
        weight = self._gated(self.given.weight)
        assert weight is not None
        directions = weight.shape[0]
        return self.e.emit_all(
            "recurrent",
            self._led(self.given.input),
            weight,
            self._gated(self.given.recurrent_weight),
            self._biases(directions, weight.dtype),
            None,
            *initial,
            self._led(getattr(self.given, "peephole_weight", None)),
            mode=self.mode,
            hidden_size=self.hidden,
            direction=_DIRECTIONS[self.attrs.get("direction", "forward")],
            activations=tuple(self.attrs["activations"]) * directions,
            **options,
        )

    def _led(self, v: Value | None) -> Value | None:
        """A cell's operand as the only one of a sequence or of the directions."""
        return v if v is None or not self.cell else self.e.reshape(v, (1, *v.shape))

    def _gated(self, v: Value | None) -> Value | None:
        """An operand [directions, gates * hidden, ...] with its gates in the order of ``recurrent``."""
        v, order, layout = self._led(v), _ORDERS[self.mode], self.attrs["layout"]
        if v is None or layout == order:
            return v
        parts = [self._part(v, layout.index(gate)) for gate in order]
        return self.e.emit("concat", *parts, axis=1)

    def _part(self, v: Value, place: int) -> Value:
        starts, sizes = [0] * len(v.shape), list(v.shape)
        starts[1], sizes[1] = place * self.hidden, self.hidden
        return self.e.emit("slice", v, starts=tuple(starts), sizes=tuple(sizes))

    def _biases(self, directions: int, dtype: str) -> Value | None:
        given = [self._gated(v) for v in (self.given.bias, self.given.recurrent_bias)]
        if given == [None, None]:
            return None
        zeros = np.zeros((directions, len(_ORDERS[self.mode]) * self.hidden), numpy_dtype(dtype))
        return self.e.emit("concat", *(self.e.constant(zeros) if v is None else v for v in given), axis=1)


def _outputs(m: Match, e: Emitter, every: Value, last: Sequence[Value]) -> tuple[Value, ...]:
    """The standard's outputs: the last states, then every hidden state where it is asked for."""
    return tuple(e.reshape(new, old.shape) for new, old in zip((*last, every), m.root.outputs))


@rewrite(op(("gru", "gru_cell"), name="gru"))
def gru(m: Match, e: Emitter) -> tuple[Value, ...]:
    """A gated recurrent unit."""
    after = m.root.attrs["reset_after"]
    every, *last = _Network(m, e, "gru").emit(["hidden_state"], linear_before_reset=after)
    return _outputs(m, e, every, last)


@rewrite(op(("lstm", "lstm_cell"), name="lstm"))
def lstm(m: Match, e: Emitter) -> tuple[Value, ...]:
    """Long short-term memory, whose peepholes all see the previous cell state."""
    network = _Network(m, e, "lstm")
    every, *last = network.emit(["hidden_state", "cell_state"], peephole_previous=True)
    return _outputs(m, e, every, last)


REWRITES = (gru, lstm)
